import assert from "node:assert/strict";
import type { SourceFixtures, TestCase } from "./fixtures.ts";
import type { OpenSource } from "./source-harness.ts";

const body = new TextEncoder().encode('{"action": "opened",  "é": "\\u00e9"}\n');
const url = "http://127.0.0.1:9";

/** Cases for `verify`. */
export function verifyCases(open: OpenSource, { signature }: SourceFixtures): TestCase[] {
  const verdict = async (headers: Record<string, string>, bytes: Uint8Array = body, more = signature?.settings ?? {}) => {
    const { source, settings, secrets } = await open();
    const answer = await source.verify({ headers, body: bytes }, settings(url, more));
    if (answer.ok) return true;
    assert.ok(answer.reason.trim(), "a rejection must have a reason");
    for (const secret of secrets) assert.ok(!answer.reason.includes(secret), "the reason must not contain the secret");
    return false;
  };
  if (signature === null) {
    return [{ name: "verify accepts an unsigned webhook", run: async () => assert.equal(await verdict({}), true) }];
  }
  const good = signature.sign(body);
  const refuses = (what: string, headers: () => Record<string, string>, bytes?: Uint8Array): TestCase => ({
    name: `verify rejects ${what}`,
    run: async () => assert.equal(await verdict(headers(), bytes), false, `${what} must be rejected`),
  });
  const each = (change: (value: string) => string) => () =>
    Object.fromEntries(Object.entries(good).map(([name, value]) => [name, change(value)]));
  const cases = [
    { name: "verify accepts a valid signature", run: async () => assert.equal(await verdict(good), true) },
    refuses("a missing signature", () => ({})),
    refuses(
      "an empty signature",
      each(() => ""),
    ),
    refuses(
      "a truncated signature",
      each((value) => value.slice(0, -1)),
    ),
    refuses(
      "a longer signature",
      each((value) => `${value}0`),
    ),
    refuses(
      "a flipped character of the signature",
      each((value) => `${value.slice(0, -1)}${value.endsWith("0") ? "1" : "0"}`),
    ),
    refuses(
      "a signature with invalid characters",
      each(() => "sha256=\u00e9\u0000"),
    ),
    refuses(
      "a signature sent twice",
      each((value) => `${value}, ${value}`),
    ),
  ];
  if (!signature.covers_body) return cases;
  const flipped = body.slice();
  flipped[3] = (flipped[3] ?? 0) ^ 1;
  return [
    ...cases,
    refuses("one flipped bit of the body", () => good, flipped),
    refuses("another body", () => good, body.slice(1)),
    refuses(
      "the same JSON formatted differently",
      () => good,
      new TextEncoder().encode(JSON.stringify(JSON.parse(new TextDecoder().decode(body)))),
    ),
  ];
}
