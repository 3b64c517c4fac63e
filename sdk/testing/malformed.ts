import type { Json, WebhookPayload } from "../source-event.ts";

const parseOwn = (text: string): Json => JSON.parse(text) as Json;

function nest(depth: number): Json {
  let value: Json = "end";
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { issue: value };
  return value;
}

/** Unexpected JSON values that a signed webhook may contain. */
export const malformedPayloads = (): readonly Json[] => [
  null,
  true,
  0,
  -1.5e300,
  "",
  "text",
  [],
  {},
  [[]],
  [{ action: "opened" }],
  parseOwn('{"__proto__": {"action": "opened", "issue": {"number": 1}}}'),
  parseOwn('{"constructor": {"prototype": {"number": 1}}, "hasOwnProperty": 1, "toString": null, "valueOf": 3}'),
  { action: "\u0000\ud800", issue: { number: 1, title: "\u0000", body: "\udfff" }, data: { id: "\u0000" } },
  { action: {}, issue: [], comment: "x", repository: 7, sender: [null], user: 1, data: null, object_attributes: [] },
  parseOwn('{"action": "opened", "issue": {"number": 1e400, "labels": "bug"}, "repository": {"full_name": "../.."}}'),
  { action: "x".repeat(100_000), issue: { number: Number.MAX_SAFE_INTEGER + 3, labels: new Array(5000).fill({ name: null }) } },
  nest(2000),
];

const swaps: readonly (Json | undefined)[] = [
  undefined,
  null,
  0,
  "",
  "\u0000\ud800",
  [],
  {},
  [null],
  { __proto__: null },
  true,
  -1,
  1.5,
];

/** Variants of a webhook with one member removed or replaced, down to four levels; at most `most` variants. */
export function* mutations(golden: WebhookPayload, most = 3000): Generator<WebhookPayload> {
  let count = 0;
  for (const path of pathsOf(golden.payload, 4)) {
    for (const swap of swaps) {
      if (++count > most) return;
      yield { headers: golden.headers, payload: replaceAt(golden.payload, path, swap) };
    }
  }
}

function* pathsOf(value: Json, depth: number, before: readonly string[] = []): Generator<readonly string[]> {
  if (depth === 0 || typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    yield [...before, name];
    yield* pathsOf(inner as Json, depth - 1, [...before, name]);
  }
}

function replaceAt(value: Json, path: readonly string[], swap: Json | undefined): Json {
  const [name = "", ...rest] = path;
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, Json>;
  if (rest.length > 0) copy[name] = replaceAt(copy[name] as Json, rest, swap);
  else if (swap === undefined) delete copy[name];
  else copy[name] = swap;
  return copy;
}
