/** A local MAC address from the host's name and address: two machines on one wire must differ. */
export function machineMac(address: string, name: string): string {
  const bytes = address.split('.').map(Number);
  const letters = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) & 0xff, 0);
  return ['02', letters, ...bytes]
    .map((each) => (typeof each === 'string' ? each : each.toString(16).padStart(2, '0')))
    .join(':');
}
