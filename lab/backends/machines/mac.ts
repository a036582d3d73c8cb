/** Fixed MAC addresses of machines. The Vagrantfile computes the same ones. */

/**
 * A local MAC address from the host's name and address: two machines on one wire must differ.
 * @param end of the wire: the machine's own, or the one that lies at its gateway
 */
export function machineMac(address: string, name: string, end: 'machine' | 'gateway' = 'machine'): string {
  const letters = [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) & 0xff, 0);
  return [end === 'machine' ? 0x02 : 0x06, letters, ...address.split('.').map(Number)]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join(':');
}
