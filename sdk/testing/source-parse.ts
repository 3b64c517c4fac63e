import assert from "node:assert/strict";
import { inspect } from "node:util";
import { z } from "zod";
import { joinedText } from "../event-text.ts";
import { addMarker } from "../marker.ts";
import type { Source } from "../source.ts";
import type { SourceEvent, WebhookPayload } from "../source-event.ts";
import type { GoldenWebhook, SourceFixtures, TestCase } from "./fixtures.ts";
import { malformedPayloads, mutations } from "./malformed.ts";
import type { OpenSource } from "./source-harness.ts";

/** Text that PostgreSQL accepts: without NUL and lone surrogates. */
const text = z
  .string()
  .refine((value) => value.isWellFormed() && !value.includes("\u0000"), "must not contain NUL or a lone surrogate");
const event = z.strictObject({
  delivery_id: text.min(1).max(200).nullable(),
  event_name: text,
  action: text.min(1).nullable(),
  subject: z.strictObject({ project: text.min(1), issue: text.min(1) }).nullable(),
  title: text.min(1).nullable().optional(),
  actor: text.min(1).nullable(),
  text: z.union([text, z.array(text)]),
  marked: z.boolean(),
  occurred_at: z.iso.datetime({ offset: true }).nullable(),
  missing_field: text.min(1).nullable(),
  change_key: text.min(1).nullable().optional(),
  ignored: text.min(1).nullable().optional(),
  author: z
    .strictObject({
      id: text.min(1).nullable(),
      name: text.min(1).nullable(),
      kind: z.enum(["human", "bot", "app", "unknown"]),
      standing: z.enum(["owner", "member", "collaborator", "contributor", "none", "unknown"]),
    })
    .nullable()
    .optional(),
  hook_id: text.min(1).max(200).nullable().optional(),
  same_as: text.min(1).max(500).nullable().optional(),
  snapshot: z.boolean().optional(),
  private: z.boolean().optional(),
  changes: z.array(text.min(1)).optional(),
  comment: text.min(1).max(200).nullable().optional(),
  comment_text: text.nullable().optional(),
  closes: z.boolean().optional(),
  thread: text.min(1).max(500).nullable().optional(),
  incomplete: z.boolean().optional(),
});

/** Cases for `parse`. */
export function parseCases(open: OpenSource, fixtures: SourceFixtures): TestCase[] {
  const golden = fixtures.golden.map((one) => ({
    name: `parse reads ${one.name}`,
    run: async () => parsesGolden((await open()).source, one),
  }));
  assert.ok(golden.length > 0, "fixtures.golden must contain at least one webhook");
  return [
    ...golden,
    { name: "parse never throws on malformed JSON values", run: async () => survives((await open()).source, fixtures) },
    { name: "parse never throws on a modified webhook", run: async () => parsesModified((await open()).source, fixtures) },
    { name: "parse recognises a redelivery", run: async () => knowsRedelivery((await open()).source, fixtures) },
    { name: "parse reads delivery ids", run: async () => readsIds((await open()).source, fixtures) },
    ...(fixtures.unmarked
      ? []
      : [
          {
            name: "parse recognises its own marker, but not a quoted one",
            run: async () => knowsMarker((await open()).source, fixtures),
          },
        ]),
  ];
}

async function parsesGolden(source: Source, golden: GoldenWebhook): Promise<void> {
  const input = deepFreeze(structuredClone({ headers: golden.headers, payload: golden.payload }));
  const first = await parseChecked(source, input, golden.name);
  for (const [member, expected] of Object.entries(golden.expect)) {
    const value = first[member as keyof SourceEvent];
    const isWholeText = member === "text" && typeof expected === "string";
    assert.deepEqual(isWholeText ? joinedText(first.text) : value, expected, `${golden.name}: ${member}`);
  }
  assert.deepEqual(
    await parseChecked(source, input, golden.name),
    first,
    `${golden.name}: parsing twice must give the same result`,
  );
}

async function survives(source: Source, fixtures: SourceFixtures): Promise<void> {
  const kinds = [{}, ...fixtures.golden.map((golden) => golden.headers), { "": "", constructor: "x" }];
  for (const headers of kinds) {
    for (const payload of malformedPayloads()) await parseChecked(source, { headers, payload }, "malformed JSON values");
  }
}

async function parsesModified(source: Source, fixtures: SourceFixtures): Promise<void> {
  for (const golden of fixtures.golden) {
    for (const input of mutations(golden)) await parseChecked(source, input, `${golden.name}, modified`);
  }
}

/** Two deliveries of the same event may differ only in their id. */
async function knowsRedelivery(source: Source, { golden, delivery_header }: SourceFixtures): Promise<void> {
  if (delivery_header === null) return;
  for (const { name, headers, payload } of golden) {
    const parse = (id: string): Promise<SourceEvent> =>
      parseChecked(source, { headers: { ...headers, [delivery_header]: id }, payload }, name);
    const [first, again, other] = [await parse("d-1"), await parse("d-1"), await parse("d-2")];
    assert.deepEqual(again, first, `${name}: the same delivery must be parsed the same`);
    assert.deepEqual(
      { ...other, delivery_id: "d-1" },
      first,
      `${name}: another delivery of the same event must differ only in its id`,
    );
    assert.equal(other.delivery_id, "d-2", `${name}: delivery_id must be the value of the header`);
  }
}

async function readsIds(source: Source, { comment_event, delivery_header }: SourceFixtures): Promise<void> {
  const sample = comment_event("A comment.");
  const idOf = async (id: string) => {
    const headers = { ...sample.headers, ...(delivery_header === null ? {} : { [delivery_header]: id }) };
    return (await parseChecked(source, { headers, payload: sample.payload }, "delivery id")).delivery_id;
  };
  if (delivery_header === null) return;
  assert.equal(delivery_header, delivery_header.toLowerCase(), "delivery_header: header names are lower-case");
  assert.equal(await idOf("7d3c-1"), "7d3c-1", `header ${delivery_header} must be the delivery_id`);
  assert.equal(await idOf("  7d3c-1 "), "7d3c-1", "delivery_id must be trimmed");
  assert.equal(await idOf("   "), null, "a blank delivery id must be read as null");
  const long = "x".repeat(10_000);
  const ids = [await idOf(`${long}1`), await idOf(`${long}1`), await idOf(`${long}2`)];
  const isShort = ids.every((id) => id !== null && id.length <= 200 && !id.startsWith("xxx"));
  const isSame = ids[0] === ids[1] && ids[1] !== ids[2];
  assert.ok(
    ids.every((id) => id === null) || (isShort && isSame),
    "a delivery id of more than 200 characters must be read as its digest (`shortId`), or as null",
  );
}

async function knowsMarker(source: Source, { comment_event }: SourceFixtures): Promise<void> {
  const isMarked = async (body: string) => (await parseChecked(source, comment_event(body), "a comment")).marked;
  const markedText = addMarker("Done.", "key-1");
  assert.equal(await isMarked(markedText), true, "a comment that starts with the marker must be marked");
  assert.equal(await isMarked("A comment of a person."), false, "a comment without the marker must not be marked");
  const quotedText = markedText.replace(/^/gm, "> ");
  assert.equal(await isMarked(`${quotedText}\n\nI agree.`), false, "a comment with a quoted marker must not be marked");
  assert.equal(await isMarked(`As it said:\n\n${markedText}`), false, "a comment with a marker in its middle must not be marked");
}

async function parseChecked(source: Source, input: WebhookPayload, what: string): Promise<SourceEvent> {
  const describeInput = (): string =>
    `${what}: ${inspect(input, { depth: 6, maxStringLength: 200, maxArrayLength: 5 }).slice(0, 4000)}`;
  let answer: SourceEvent;
  try {
    answer = await source.parse(input);
  } catch (error) {
    // In the sandbox, the host checks the result before this suite sees it.
    if (error instanceof Error && /^The answer of \S+ is not valid: /.test(error.message))
      assert.fail(`parse must return a SourceEvent; ${error.message}\nfor ${describeInput()}`);
    assert.fail(`parse must never throw; it threw ${inspect(error)}\nfor ${describeInput()}`);
  }
  const parsed = event.safeParse(answer);
  assert.ok(
    parsed.success,
    `parse must return a SourceEvent; ${parsed.success ? "" : z.prettifyError(parsed.error)}\nfor ${describeInput()}`,
  );
  return answer;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) for (const inner of Object.values(Object.freeze(value))) deepFreeze(inner);
  return value;
}
