import ipaddr from "ipaddr.js";

/** A set of addresses, written in CIDR notation. */
export interface Networks {
  has(address: string): boolean;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Reads `10.0.0.0/8`, `fd00::/8` or a single address. Throws an Error that names the invalid text. */
export function parseNetworks(list: readonly string[]): Networks {
  const networks = list.map(parseNetwork);
  return {
    has: (text) => {
      const address = parseAddress(text);
      return address !== null && networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
    },
  };
}

/** Whether a text is a network in CIDR notation or an address. */
export function isNetwork(text: string): boolean {
  try {
    return parseNetwork(text).length > 0;
  } catch {
    return false;
  }
}

function parseNetwork(text: string): [Address, number] {
  const error = new Error(`${JSON.stringify(text.slice(0, 100))} is not a network such as 10.0.0.0/8, fd00::/8 or 192.0.2.7`);
  const [address = "", bits, ...rest] = text.trim().split("/");
  if (rest.length > 0 || !isAddress(address) || (bits !== undefined && !/^\d{1,3}$/.test(bits))) throw error;
  const base = ipaddr.parse(address);
  const most = base.kind() === "ipv4" ? 32 : 128;
  const prefixLength = bits === undefined ? most : Number(bits);
  if (prefixLength > most) throw error;
  // ::ffff:10.0.0.0/104 means 10.0.0.0/8: addresses are compared in their own family.
  if (base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && prefixLength >= 96)
    return [base.toIPv4Address(), prefixLength - 96];
  return [base, prefixLength];
}

/** Only IPv4 addresses with four decimal parts: programs interpret the octal and hexadecimal forms of `inet_aton` differently. */
const isAddress = (text: string): boolean => ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text);

/** An address in its own family: `::ffff:10.0.0.1` is 10.0.0.1. `null` if the text is not an address. */
export function parseAddress(text: string): Address | null {
  return isAddress(text) ? ipaddr.process(text) : null;
}

/**
 * The network by which a sender is counted: an IPv4 address, or the /64 of an IPv6 address, because a sender can use all of it.
 */
export function networkOf(text: string): string {
  const address = parseAddress(text);
  if (!(address instanceof ipaddr.IPv6)) return address?.toString() ?? text;
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(":")}::/64`;
}

/** Whether an address belongs to this machine. */
export const isLoopback = (text: string): boolean => parseAddress(text)?.range() === "loopback";

const privateRanges = new Set(["private", "loopback", "uniqueLocal", "linkLocal", "carrierGradeNat"]);
/** Whether an address belongs to a private network or to this machine, so that it may be that of a proxy. */
export const isPrivate = (text: string): boolean => privateRanges.has(parseAddress(text)?.range() ?? "");

const globalUnicast = ipaddr.parseCIDR("2000::/3");

/**
 * Whether an address is public, by the registries of special-purpose addresses (RFC 6890): not private, loopback, link-local
 * (where clouds provide their metadata), unique-local, carrier-grade NAT, documentation, multicast …
 */
export function isPublic(text: string): boolean {
  const address = parseAddress(text);
  if (!address) return false;
  if (address instanceof ipaddr.IPv4) return address.range() === "unicast" && !otherSpecial.has(text);
  // A NAT64 address (RFC 6052) contains an IPv4 address, which is the destination.
  if (address.range() === "rfc6052") return isPublic(address.toByteArray().slice(12).join("."));
  return address.range() === "unicast" && address.match(globalUnicast);
}

/** Special-purpose IPv4 networks that the library counts as ordinary. */
const otherSpecial = parseNetworks(["192.0.0.0/24", "192.0.2.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"]);
