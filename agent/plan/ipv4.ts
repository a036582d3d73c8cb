/** IPv4 arithmetic for link subnets. */

/** @returns the address as an unsigned number, or null when the text is no dotted address */
export function parseAddress(text: string): number | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  const octets = match?.slice(1).map(Number);
  if (octets === undefined || octets.some((octet) => octet > 255)) return null;
  return octets.reduce((sum, octet) => sum * 256 + octet, 0);
}

export function formatAddress(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.');
}

export interface Subnet {
  base: number;
  prefixLength: number;
  /** Addresses in it. */
  size: number;
}

/** @returns null when the text is no `address/length` or has bits beyond its length */
export function parseSubnet(text: string): Subnet | null {
  const [address = '', length = '', ...rest] = text.split('/');
  const base = parseAddress(address);
  const prefixLength = Number(length);
  if (base === null || rest.length > 0 || !/^\d{1,2}$/.test(length) || prefixLength > 32) return null;
  const size = 2 ** (32 - prefixLength);
  return base % size === 0 ? { base, prefixLength, size } : null;
}

export function overlap(a: Subnet, b: Subnet): boolean {
  return a.base < b.base + b.size && b.base < a.base + a.size;
}
