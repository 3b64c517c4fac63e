import fc from "fast-check";

const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

/** Texts that have broken programs before. */
const texts = [
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "\ud800",
  "a\udfffb",
  "\ufeff",
  "\u202e",
  "e\u0301",
  "🦉",
  "ﬀ",
  "İ",
  "\r\n",
  "\u2028",
  "'; drop table agents; --",
  "' or '1'='1",
  "$1",
  "{{7*7}}",
  "%s%n",
  "%00",
  "\\",
  '"',
  "`id`",
  "$(id)",
  "| id",
  "../../etc/passwd",
  "..",
  ".",
  "/",
  "C:\\",
  "file:///etc/passwd",
  "<script>alert(1)</script>",
  "<!-- x -->",
  "]]>",
  "__proto__",
  "constructor",
  "prototype",
  "toString",
  "null",
  "undefined",
  "NaN",
  "true",
  "0",
  "-1",
  "1e309",
  "http://127.0.0.1:9/",
  "http://169.254.169.254/latest",
  "http://[::1]:9/",
  "https://user:pass@127.0.0.1/",
  "2026-13-45T99:99:99Z",
  "9999-12-31T23:59:59Z",
  "0000-01-01T00:00:00Z",
  "-271821-04-20T00:00:00Z",
  "$..*",
  "$[?(@)]",
  "[.[]|input]",
  "def f: f; f",
  "infinite",
  "(a+)+$",
  "/webhook/:x/*",
  "/:a(.*)",
];
const numbers = [0, -0, -1, 1.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e21, 1e308, -1e308, 5e-324];

export const strangeText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...texts),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc.constantFrom("x", "é", "🦉", "\u0000", " ").chain((unit) => fc.constantFrom(130, 600, 30_000).map((n) => unit.repeat(n))),
);

/** Any JSON, deep and wide, with members that objects have already. */
export const strangeValue: fc.Arbitrary<unknown> = fc.oneof(
  strangeText,
  fc.constantFrom<unknown>(null, true, false, [], {}, [null], [[]], ...numbers),
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(fc.oneof(strangeText, fc.constantFrom("id", "$gt", "toJSON", "then")), strangeText, { maxKeys: 4 }),
  fc.array(strangeText, { maxLength: 4 }),
  fc.constantFrom(80, 490, 600).map((depth) => JSON.parse(nested(depth, "[", "]"))),
);

/** Bodies that are no JSON object, or that parsers read differently. */
export const strangeBody: fc.Arbitrary<string | Uint8Array<ArrayBuffer>> = fc.oneof(
  fc.constantFrom(
    ...["", "{", "[]", "null", "{}{}", "\ufeff{}", '{"a":}', "{'a':1}", '{"id":"a","id":"b"}', '{"__proto__":{"id":"x"}}', "NaN"],
    ...['{"n":1e400}', '{"\\u0000":1}', '{"id":"\\ud800"}', nested(600, '{"a":', "1}"), nested(60_000, "[", "]"), "a=1&b=2"],
  ),
  fc.constant(`{"name":"${"x".repeat(1_100_000)}"}`),
  fc.uint8Array({ maxLength: 60 }).map((bytes) => Uint8Array.from(bytes)),
  fc.json(),
);

/** Headers with values that are not what they should be. What HTTP itself forbids in a header cannot be sent. */
export const strangeHeaders: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(
    ...["content-type", "accept", "accept-encoding", "accept-language", "content-encoding", "cookie", "if-none-match", "range"],
    ...[
      "x-alpha-event",
      "x-alpha-delivery",
      "x-hub-signature-256",
      "x-beta-event",
      "x-beta-token",
      "x-api-key",
      "x-forwarded-for",
    ],
    ...["forwarded", "x-http-method-override", "traceparent", "origin", "referer", "user-agent", "grpc-timeout", "last-event-id"],
  ),
  fc.oneof(
    fc.constantFrom(
      "",
      "*/*",
      "application/json",
      "text/plain",
      "application/json; charset=utf-16",
      "gzip",
      "sha256=",
      "-1",
      "issues",
    ),
    fc.constantFrom("application/JSON;", "multipart/form-data", "application/grpc", "application/connect+json", "x".repeat(4000)),
    fc.string({ maxLength: 60 }).map((text) => text.replaceAll(/[^\x20-\x7e]/g, "").trim()),
  ),
  { maxKeys: 3 },
);
