import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLoopback, isPublic, parseAddress, parseNetworks } from "./networks.ts";

describe("isPublic", () => {
  it.each([
    "0.0.0.0",
    "10.1.2.3",
    "100.64.0.1",
    "127.0.0.1",
    "127.9.9.9",
    "169.254.169.254",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.9",
    "203.0.113.9",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "::127.0.0.1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::",
    "2001:0:1::1",
    "100::1",
    "5f00::1",
    "localhost",
    "",
    "010.0.0.1",
    "0x7f.1",
    "127.1",
    "1.2.3.4/8",
  ])("%s is not", (address) => expect(isPublic(address)).toBe(false));

  it.each(["1.1.1.1", "8.8.8.8", "140.82.112.3", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"])(
    "%s is",
    (address) => expect(isPublic(address)).toBe(true),
  );

  it("judges an IPv4 address alike in every spelling", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(isPublic(`::ffff:${address}`)).toBe(isPublic(address));
        expect(isPublic(`64:ff9b::${address}`)).toBe(isPublic(address));
        expect(isLoopback(`::ffff:${address}`)).toBe(address.startsWith("127."));
      }),
    );
  });
});

describe("parseNetworks", () => {
  it("holds exactly the addresses with the same leading bits", () => {
    const number = (address: string) => address.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (base, address, bits) => {
        const shift = BigInt(32 - bits);
        const inside = number(base) >> shift === number(address) >> shift;
        expect(parseNetworks([`${base}/${bits}`]).has(address)).toBe(inside);
        expect(parseNetworks([`${base}/${bits}`]).has(`::ffff:${address}`)).toBe(inside);
      }),
    );
  });

  it("takes single addresses and both families", () => {
    const networks = parseNetworks(["192.0.2.7", "fd00::/8", "::ffff:10.0.0.0/104"]);
    for (const inside of ["192.0.2.7", "fd12::1", "10.200.0.1"]) expect(networks.has(inside)).toBe(true);
    for (const outside of ["192.0.2.8", "fe80::1", "11.0.0.1", "nonsense"]) expect(networks.has(outside)).toBe(false);
  });

  it.each(["10.0.0.0/33", "fd00::/129", "10.0.0/8", "host", "", "10.0.0.0/8/8", "10.0.0.0/-1", "10.0.0.0/", "0x0a.0.0.0/8"])(
    "refuses %j, naming it",
    (text) => expect(() => parseNetworks([text])).toThrow(JSON.stringify(text)),
  );

  it("throws only errors in its own words", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const address = parseAddress(text);
        if (address) expect(parseAddress(address.toString())?.toString()).toBe(address.toString());
        try {
          parseNetworks([text]);
        } catch (error) {
          expect(String(error)).toContain("is not a network such as");
        }
      }),
    );
  });
});
