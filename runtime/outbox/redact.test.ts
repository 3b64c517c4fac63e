import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { redact } from "./redact.ts";
import { SecretFinder } from "./secret-finder.ts";

/** It has no platform's key shape, so that it is found only by its value. */
const secret = ["q7Zx93", "Kp0Lm2", "Vt81Wd", "s5Yb64"].join("-");
const word = "tracker-token";
const finder = new SecretFinder([
  { name: "ALPHA_TOKEN", value: secret },
  { name: "WEBHOOK", value: word },
]);
const clean = (text: string) => redact(text, finder);
const inPieces = (text: string, between: string) => [...text].join(between);

describe("values of our secrets are redacted", () => {
  const bytes = Buffer.from(secret);
  test.each([
    ["as they are", secret],
    ["in upper case", secret.toUpperCase()],
    ["in base64", bytes.toString("base64")],
    ["in base64 within other text", Buffer.from(`Bearer ${secret};`).toString("base64")],
    ["in base64url", Buffer.from(`x${secret}`).toString("base64url")],
    ["in base64 twice", Buffer.from(bytes.toString("base64")).toString("base64")],
    ["in hexadecimal", bytes.toString("hex")],
    ["percent-encoded", bytes.toString("hex").replace(/../g, "%$&")],
    ["as escapes", bytes.toString("hex").replace(/../g, "\\x$&")],
    ["as character references", inPieces(secret, "").replace(/./g, (sign) => `&#${sign.charCodeAt(0)};`)],
    ["reversed", [...secret].reverse().join("")],
    ["split by Markdown", inPieces(secret, "**")],
    ["split by blanks and lines", inPieces(secret, " \n")],
    ["split by invisible characters", inPieces(secret, "\u200b")],
    ["a half of them", secret.slice(0, 16)],
  ])("%s", (_, written) => {
    const { text, names } = clean(`The token is ${written} indeed.`);
    expect(text).toMatch(/^The token is .{0,12}\[redacted\].{0,8} indeed\.$/s);
    expect(names).toEqual(["ALPHA_TOKEN"]);
  });
  test("a secret is redacted, the words that it consists of are not", () => {
    expect(clean("The tracker token is set.").text).toBe("The tracker token is set.");
    expect(clean(`${word} and tracker**-token**`).text).toBe("[redacted] and [redacted]**");
  });
  test("short values and words are no secrets", () => {
    const words = new SecretFinder(["x", "t", "test", "secret", "demonstration"].map((value) => ({ name: "N", value })));
    expect(redact("x t test secret demonstration", words).text).toBe("x t test secret demonstration");
  });
  test("a value of letters alone, longer than most words", () => {
    const value = "supersecrettokens";
    const letters = new SecretFinder([{ name: "N", value }]);
    for (const written of [value, Buffer.from(value).toString("base64"), [...value].reverse().join("")])
      expect(redact(`It is ${written}.`, letters).text).toMatch(/^It is \[redacted\].{0,2}\.$/);
  });
  test("whatever surrounds it", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (before, after) => {
        const { text } = clean(`${before} ${secret} ${after}`);
        expect(text).not.toContain(secret);
        expect(text).toContain("[redacted]");
      }),
    );
  });
});

describe("what looks like a key is redacted", () => {
  const body = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
  test.each([
    ["github", `gh${"p_"}${body}`],
    ["gitlab", `gl${"pat-"}${body.slice(0, 20)}`],
    ["aws", `AK${"IA"}IOSFODNN7EXAMPLQ`],
    ["slack", `xo${"xb-"}123456789012-${body}`],
    ["google", `AI${"za"}${body.slice(0, 35)}`],
    ["jwt", `ey${"J"}hbGciOiJIUzI1NiJ9.ey${"J"}zdWIiOiIxMjM0NTY3ODkwIn0.${body}`],
    ["password in a URL", "hunter2x"],
    ["private key", `-----${"BEGIN"} RSA PRIVATE KEY-----\n${body}\n-----END RSA PRIVATE KEY-----`],
  ])("%s", (name, key) => {
    const text = name.includes("URL") ? `postgres://user:${key}@db.example.com/app` : `Key: ${key}`;
    const { text: shown, names } = clean(text);
    expect(shown).toContain("[redacted]");
    expect(shown).not.toContain(key.slice(-8));
    expect(names).toEqual([`a key (${name})`]);
  });
  test("in any mixture of spellings, with anything between the characters that readers do not see", () => {
    const marks: Record<string, string> = { _: "lowbar", "-": "hyphen", ".": "period", ":": "colon", "/": "sol", "@": "commat" };
    const spell = (sign: string, way: number): string => {
      const code = sign.charCodeAt(0);
      const name = marks[sign] ?? `#${code}`;
      return (
        [
          `&#${code};`,
          `&#x${code.toString(16)};`,
          `&#X000${code.toString(16).toUpperCase()};`,
          `&#0000000000${code};`,
          `&${name};`,
          `&amp;${name};`,
          `&amp;amp;#38;#${code};`,
          `&#38;#${code};`,
        ][way] ?? sign
      );
    };
    const nothing = [
      "<b></b>",
      "<!-- x -->",
      "<!-->",
      "<i title='>'>",
      "<a\nb>",
      "<?x?>",
      "\u2063",
      "\u200e",
      "\u001b[31m",
      "&shy;",
      "&NoBreak;",
    ];
    const keys = [
      `gh${"p_"}${body}`,
      `gl${"pat-"}${body.slice(0, 20)}`,
      `SG${"."}${body.slice(0, 20)}.${body}`,
      secret,
      "-short.1!",
    ];
    const short = new SecretFinder([
      { name: "ALPHA_TOKEN", value: secret },
      { name: "SHORT", value: "-short.1!" },
    ]);
    const unseen = fc.oneof({ weight: 6, arbitrary: fc.constant("") }, fc.constantFrom(...nothing));
    const way = fc.oneof({ weight: 2, arbitrary: fc.constant(-1) }, fc.integer({ min: 0, max: 7 }));
    fc.assert(
      fc.property(fc.constantFrom(...keys), fc.infiniteStream(way), fc.infiniteStream(unseen), (key, ways, between) => {
        const next = <T>(stream: Iterator<T>): T => stream.next().value as T;
        const written = [...key].map((sign) => spell(sign, next(ways)) + next(between));
        const { text, names } = redact(`Key: ${written.join("")} end`, short);
        expect(text).toMatch(/^Key: .{0,40}\[redacted\].{0,40} end$/s);
        expect(names).toHaveLength(1);
        for (const piece of written.slice(1, -1)) if (piece.length > 6) expect(text).not.toContain(written.join(""));
      }),
      { numRuns: 400 },
    );
  });
  test("long texts that begin tags and references and end none take linear time", () => {
    for (const piece of ['<a "', "<!--", "<a '<b ", "&amp;", "&#0", "&#x", "<![CDATA[", "<a>&lowbar;"])
      expect(redact(piece.repeat(200_000 / piece.length), finder).names).toEqual([]);
  }, 5_000);
  test("hashes, ids and prose remain", () => {
    const text =
      "Commit 3f2a9c1b7d5e4f60a8b9c0d1e2f3a4b5c6d7e8f9, id 0199b1a2-7c3d-7e4f-8a9b-0c1d2e3f4a5b, task-force, https://a@b.c";
    expect(clean(text)).toEqual({ text, names: [] });
  });
});
