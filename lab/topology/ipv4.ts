/** IPv4 addresses as unsigned 32-bit numbers: just what an address plan needs. */

export interface Subnet {
  /** Network address as a number. */
  base: number;
  prefixLength: number;
}

/** @throws Error naming the text when it is no dotted IPv4 address. */
export function parseAddress(text: string): number {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  const octets = match?.slice(1).map(Number);
  if (octets === undefined || octets.some((octet) => octet > 255)) throw new Error(`"${text}" is not an IPv4 address`);
  return octets.reduce((sum, octet) => sum * 256 + octet, 0);
}

export function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}

/** @throws Error when the text is no `address/length` or has bits set beyond its length. */
export function parseSubnet(text: string): Subnet {
  const [address, length, ...rest] = text.split('/');
  const prefixLength = Number(length);
  if (address === undefined || rest.length > 0 || !/^\d{1,2}$/.test(length ?? '') || prefixLength > 32) {
    throw new Error(`"${text}" is not a subnet such as 192.168.1.0/24`);
  }
  const base = parseAddress(address);
  if (base % 2 ** (32 - prefixLength) !== 0) {
    const network = base - (base % 2 ** (32 - prefixLength));
    throw new Error(`"${text}" is not a network address: did you mean ${formatAddress(network)}/${prefixLength}?`);
  }
  return { base, prefixLength };
}

export function contains(subnet: Subnet, address: number): boolean {
  return address >= subnet.base && address < subnet.base + 2 ** (32 - subnet.prefixLength);
}

export function overlap(a: Subnet, b: Subnet): boolean {
  return contains(a, b.base) || contains(b, a.base);
}

/** The n-th address of a subnet, 0 being the network's own. */
export function nthAddress(subnet: Subnet, n: number): string {
  return formatAddress(subnet.base + n);
}
