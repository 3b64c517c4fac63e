import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { clientAddress } from "./client-address.ts";
import { parseNetworks } from "./networks.ts";

const trusted = parseNetworks(["10.0.0.0/8", "127.0.0.1", "fd00::/8"]);

describe("clientAddress", () => {
  it.each([
    ["192.0.2.1", undefined, "192.0.2.1"],
    ["192.0.2.1", "198.51.100.1", "192.0.2.1"],
    ["10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["::ffff:10.0.0.1", "198.51.100.1", "198.51.100.1"],
    ["10.0.0.1", "203.0.113.9, 198.51.100.1, 10.0.0.2", "198.51.100.1"],
    ["10.0.0.1", "198.51.100.1:4711", "198.51.100.1"],
    ["10.0.0.1", "[2001:db8::1]:4711", "2001:db8::1"],
    ["10.0.0.1", "2001:db8::1", "2001:db8::1"],
    ["10.0.0.1", undefined, "10.0.0.1"],
    ["10.0.0.1", "10.0.0.9", "10.0.0.9"],
    ["10.0.0.1", "unknown", null],
    [undefined, "198.51.100.1", null],
  ])("%s with %s is %s", (remote, forwarded, expected) => expect(clientAddress(remote, forwarded, trusted)).toBe(expected));

  it("ignores headers of senders that are not trusted", () => {
    fc.assert(
      fc.property(fc.string(), (forwarded) => void expect(clientAddress("192.0.2.1", forwarded, trusted)).toBe("192.0.2.1")),
    );
  });

  it("finds the last address that is not a trusted proxy", () => {
    const outside = fc.ipV4().filter((address) => !trusted.has(address));
    fc.assert(
      fc.property(
        fc.array(fc.ipV4()),
        outside,
        fc.array(fc.constantFrom("10.1.2.3", "fd00::7")),
        (forged, client, proxies) =>
          void expect(clientAddress("127.0.0.1", [...forged, client, ...proxies].join(", "), trusted)).toBe(client),
      ),
    );
  });
});
