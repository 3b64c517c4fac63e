import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createVault } from "./vault.ts";

const [first, second] = [randomBytes(32).toString("hex"), randomBytes(32).toString("base64")] as [string, string];

describe("vault", () => {
  it("opens what it sealed, under the same purpose only", async () => {
    const vault = createVault([first]);
    const sealed = await vault.seal({ token: "t0ken" }, "row 1");
    expect(sealed.split(".")).toHaveLength(5);
    expect(Buffer.from(sealed, "base64url").toString("latin1")).not.toContain("t0ken");
    expect(await vault.open(sealed, "row 1")).toEqual({ token: "t0ken" });
    await expect(vault.open(sealed, "row 2")).rejects.toThrow("belongs to row 1");
    expect(await vault.seal({ token: "t0ken" }, "row 1")).not.toBe(sealed);
  });

  it("rotates: the first key encrypts, each decrypts", async () => {
    const old = await createVault([first]).seal("x", "row");
    const both = createVault([second, first]);
    expect([await both.open(old, "row"), both.isCurrent(old)]).toEqual(["x", false]);
    expect(both.isCurrent(await both.seal("x", "row"))).toBe(true);
    await expect(createVault([second]).open(old, "row")).rejects.toThrow("a key that is not in ENCRYPTION_KEY");
  });

  it("takes the same key in each of its spellings", async () => {
    const key = randomBytes(32);
    const sealed = await createVault([key.toString("hex")]).seal(1, "row");
    for (const encoding of ["base64", "base64url"] as const)
      expect(await createVault([key.toString(encoding)]).open(sealed, "row")).toBe(1);
  });

  it("says what is missing", async () => {
    expect(() => createVault([]).requireKey()).toThrow("ENCRYPTION_KEY is not set");
    await expect(createVault([]).open(await createVault([first]).seal(1, "row"), "row")).rejects.toThrow(
      "ENCRYPTION_KEY is not set",
    );
    for (const text of ["", "x", "a.b.c.d.e", "e30.e30.e30.e30.e30"])
      await expect(createVault([first]).open(text, "row")).rejects.toThrow(/not a JWE|not in ENCRYPTION_KEY/);
    const sealed = await createVault([first]).seal({ token: "t0ken" }, "row");
    const changed = sealed.replace(/.{4}\.([^.]*)$/, "AAAA.$1");
    await expect(createVault([first]).open(changed, "row")).rejects.toThrow();
  });
});
