import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { authCheck } from "./webhook-auth.ts";

const body = new TextEncoder().encode('{"a":1}');
const sent = (headers: Record<string, string> = {}, address: string | null = null) => ({ headers, body, address: () => address });
const hmac = (secret: string, encoding: "hex" | "base64" | "base64url" = "hex") =>
  createHmac("sha256", secret).update(body).digest(encoding);

describe("hmac_sha256", () => {
  const check = authCheck({ method: "hmac_sha256", header: "X-Sig", prefix: "sha256=" }, "s3cret");
  it("accepts hexadecimal and base64 digests of the raw body", () => {
    for (const text of [hmac("s3cret"), hmac("s3cret").toUpperCase(), hmac("s3cret", "base64"), hmac("s3cret", "base64url")])
      expect(check(sent({ "x-sig": `sha256=${text}` }))).toEqual({ ok: true });
  });
  it.each([
    [{}, "missing header"],
    [{ "x-sig": hmac("s3cret") }, 'must begin with "sha256="'],
    [{ "x-sig": "sha256=abc" }, "must contain an HMAC"],
    [{ "x-sig": "sha256=" }, "must contain an HMAC"],
    [{ "x-sig": `sha256=${hmac("other")}` }, "does not match the body"],
  ])("refuses %j", (headers, reason) =>
    expect(check(sent(headers as Record<string, string>))).toEqual({ ok: false, reason: expect.stringContaining(reason) }),
  );
  it("never throws, and never accepts what was not signed", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => void expect(check(sent({ "x-sig": text })).ok).toBe(false)));
    expect(authCheck({ method: "hmac_sha256", header: "constructor", prefix: "" }, "s")(sent()).ok).toBe(false);
  });
});

describe("token", () => {
  const check = authCheck({ method: "token", header: "X-Token" }, "s3cret");
  it("accepts exactly the secret", () => {
    expect(check(sent({ "x-token": "s3cret" }))).toEqual({ ok: true });
    for (const headers of [{}, { "x-token": "" }, { "x-token": "s3cre" }, { "x-token": "s3cret " }])
      expect(check(sent(headers as Record<string, string>)).ok).toBe(false);
  });
});

describe("ip_allowlist", () => {
  const check = authCheck({ method: "ip_allowlist", cidrs: ["192.0.2.0/24", "2001:db8::/32"] }, null);
  it.each([
    ["192.0.2.9", true],
    ["::ffff:192.0.2.9", true],
    ["2001:db8::5", true],
    ["192.0.3.1", false],
    [null, false],
  ])("%s: %s", (address, ok) => expect(check(sent({}, address)).ok).toBe(ok));
});
