import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { equalSecrets } from "../secrets.ts";
import type { SignatureScheme } from "../source-event.ts";
import { assertNoSecret } from "./expect.ts";
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
    assertNoSecret("a rejection", answer.reason, secrets);
    return false;
  };
  const accepted = async (headers: Record<string, string>, what: string) => {
    const { source, settings } = await open();
    const answer = await source.verify({ headers, body }, settings(url, signature?.settings ?? {}));
    assert.ok(answer.ok, `verify must accept ${what}; it rejected it: ${answer.ok ? "" : answer.reason}`);
  };
  if (signature === null) {
    const accepts = () => accepted({}, "a webhook without a signature");
    return [{ name: "verify accepts an unsigned webhook", run: () => declaresNone(open).then(accepts) }];
  }
  const good = signature.sign(body);
  const refuses = (what: string, headers: () => Record<string, string>, bytes?: Uint8Array): TestCase => ({
    name: `verify rejects ${what}`,
    run: async () => assert.equal(await verdict(headers(), bytes), false, `${what} must be rejected`),
  });
  const each = (change: (value: string) => string) => () =>
    Object.fromEntries(Object.entries(good).map(([name, value]) => [name, change(value)]));
  const cases = [
    { name: "verify accepts a valid signature", run: () => accepted(good, "what `signature.sign` of the fixtures signed") },
    { name: "the declared signature is that of verify", run: () => agrees(open, signature) },
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
  return signature.covers_body ? [...cases, ...otherBodies.map(([what, bytes]) => refuses(what, () => good, bytes))] : cases;
}

const changedBody = body.slice();
changedBody[3] = (changedBody[3] ?? 0) ^ 1;
/** With the signature of `body`. */
const otherBodies: readonly (readonly [string, Uint8Array])[] = [
  ["one flipped bit of the body", changedBody],
  ["another body", body.slice(1)],
  ["the same JSON formatted differently", new TextEncoder().encode(JSON.stringify(JSON.parse(new TextDecoder().decode(body))))],
];

async function declaresNone(open: OpenSource): Promise<void> {
  const { source } = await open();
  assert.equal(source.signature, undefined, "the source declares a signature, so fixtures.signature must say how it is made");
}

/** The host checks what a source declares by itself, also while the plugin does not run, so it must be the platform's signature. */
async function agrees(open: OpenSource, { settings: more, sign }: NonNullable<SourceFixtures["signature"]>): Promise<void> {
  const { source, settings } = await open();
  const { signature: declaredSignature } = source;
  if (!declaredSignature) return;
  const secret = settings(url, more)[declaredSignature.secret];
  const secrets: readonly string[] = source.secrets;
  assert.ok(
    typeof secret === "string",
    `signature.secret: fixtures.signature.settings must contain "${declaredSignature.secret}"`,
  );
  assert.ok(secrets.includes(declaredSignature.secret), `signature.secret: "${declaredSignature.secret}" must be one of secrets`);
  assert.equal(declaredSignature.header, declaredSignature.header.toLowerCase(), "signature.header must be in lower case");
  const accepts = (headers: Record<string, string>, bytes: Uint8Array) => isSigned(declaredSignature, headers, bytes, secret);
  assert.ok(accepts(sign(body), body), "signature: does not accept what fixtures.signature.sign made");
  const other = declaredSignature.type === "token" ? `${secret}0` : "another secret";
  assert.ok(
    !isSigned(declaredSignature, sign(body), body, other),
    "signature: accepts a webhook that was signed with another secret",
  );
}

/** As the host does it. */
function isSigned(
  { type, header, prefix = "" }: SignatureScheme,
  headers: Readonly<Record<string, string>>,
  bytes: Uint8Array,
  secret: string,
): boolean {
  const headerValue = Object.entries(headers).find(([name]) => name.toLowerCase() === header)?.[1] ?? "";
  if (type === "token") return equalSecrets(headerValue.slice(prefix.length), secret);
  const hmac = createHmac("sha256", secret).update(bytes).digest();
  const value = headerValue.slice(prefix.length);
  return headerValue.startsWith(prefix) && (value.toLowerCase() === hmac.toString("hex") || value === hmac.toString("base64"));
}
