import { afterAll, beforeAll, expect, test } from "vitest";
import type { Sql } from "../platform/database/client.ts";
import { type TestDatabase, testDatabase, testServer } from "../platform/database/test-database.ts";
import { sha256Of } from "../platform/digest.ts";
import { newId } from "../platform/ids.ts";
import { pack } from "../platform/packing/packed.ts";
import { findUnparsed } from "./unparsed.ts";
import { discardDeferred } from "./unparsed-queries.ts";

let sql: Sql;
let own: TestDatabase | null = null;
beforeAll(async () => {
  if (!testServer) return;
  own = await testDatabase(testServer, { replicas: 1, max: 2 });
  sql = (own.pools[0] as { sql: Sql }).sql;
}, 60_000);
afterAll(() => own?.drop());

const noTarget = { actor: null, subjects: null, project: undefined };
/** Which of these payloads an erasure finds. */
async function found(wanted: Partial<Parameters<typeof findUnparsed>[1]>, ...payloads: unknown[]): Promise<number[]> {
  await sql`delete from unread_webhooks`;
  const ids: string[] = [];
  for (const payload of payloads) {
    const text = Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload));
    ids.push(newId());
    await sql`insert into unread_webhooks (id, plugin, source, slug, headers, body)
      values (${ids.at(-1) ?? ""}, 'tickets', 'tickets', 'tickets', '{}', ${pack("payload", text) ?? text})`;
  }
  return (await findUnparsed(sql, { ...noTarget, ...wanted })).map((id) => ids.indexOf(id)).sort();
}

test("a name is found deep in a payload of any size", { tags: ["postgres"] }, async () => {
  const many = Array.from({ length: 60_000 }, (_, n) => n + 100_000);
  const deep = { many, a: { b: { c: { login: "Mona" } } } };
  const long = { text: "x".repeat(4_500_000), a: { b: { login: "Mona" } } };
  expect(await found({ actor: "mona" }, deep, long, { many, login: "Monalisa" })).toEqual([0, 1]);
});

test("escapes in a name are resolved before it is compared", { tags: ["postgres"] }, async () => {
  const payloads = ['{"login":"M\\u00f3na \\"M\\\\"}', '{"url":"https:\\/\\/example.org\\/acme\\/shop\\/7","number":7}'];
  expect(await found({ actor: 'móna "m\\' }, ...payloads)).toEqual([0]);
  expect(await found({ subjects: ["tickets:acme/shop#7"] }, ...payloads)).toEqual([1]);
});

test("a number is a person only as the value of a member that can name one", { tags: ["postgres"] }, async () => {
  const other = [{ number: 7, counts: [7] }, { user: { login: "bob" }, position: 7.0 }, { text: "7 of 9" }];
  const payloads = [...other, { user: { id: 7 } }, { author_id: 7 }, { reporter: 7 }, { accountId: "7" }, '{"userId" :\n7}'];
  expect(await found({ actor: "7" }, ...payloads)).toEqual([3, 4, 5, 6, 7]);
});

test.each([
  '{"created_by":7}',
  '{"updatedBy":7}',
  '{"member":7}',
  '{"account":7}',
  '{"assignee_ids":[3,7]}',
  '{"reviewers":[7]}',
  '{"participants":[{"id":3},7]}',
])("the number in %s is a person", { tags: ["postgres"] }, async (payload) => {
  expect(await found({ actor: "7" }, payload)).toEqual([0]);
});

test.each(['{"counts":[7]}', '{"members":7}', '{"user":{"posts":7}}', '{"users":[{"posts":7}],"sizes":[7]}'])(
  "the number in %s is no person",
  { tags: ["postgres"] },
  async (payload) => {
    expect(await found({ actor: "7" }, payload)).toEqual([]);
  },
);

test("a search of a long payload lets other work run, also where it has neither strings nor numbers", async () => {
  const body = Buffer.from(`[${'{"a":null},'.repeat(1_000_000)}1]`);
  // Answers at once, so that only the pauses of the search let other work run.
  const answers = (parts: readonly string[]) =>
    Promise.resolve(
      parts[0]?.includes("select id, source, body") ? [{ id: "1", source: "tickets", body }] : [{ id: "1", bytes: 1 }],
    );
  let turns = 0;
  const other = setInterval(() => turns++, 1);
  expect(await findUnparsed(answers as never, { ...noTarget, actor: "mona" })).toEqual([]);
  clearInterval(other);
  expect(turns).toBeGreaterThan(3);
});

test("payloads of other issues and projects are not found", { tags: ["postgres"] }, async () => {
  const payloads = [
    { number: 42, project: "acme/webshop" },
    { number: 42, project: "acme/other" },
    { number: 4, project: "acme/webshop" },
    { key: "CONF-7" },
    { key: "CONF-70", project: "CONFERENCE" },
  ];
  expect(await found({ subjects: ["tickets:acme/webshop#42"] }, ...payloads)).toEqual([0]);
  expect(await found({ subjects: ["tickets:CONF#CONF-7"] }, ...payloads)).toEqual([3]);
  const project = { source: "tickets", source_project_id: "CONF" };
  expect(await found({ project }, ...payloads)).toEqual([3, 4]);
});

test("what identifies a repeated delivery is kept: the id of its message, and the digest of its body under its names", {
  tags: ["postgres"],
}, async () => {
  const contextOf = (context: object) => JSON.stringify({ proven: [], scopes: ["tickets", "tickets previous"], ...context });
  const contexts = ["{}", contextOf({ messageId: "m-1" }), contextOf({ messageId: "m-2", replayOf: newId() })];
  const rows = contexts.map((way) => ({ id: newId(), way, body: `{"login":"Mona","at":${JSON.stringify(way)}}` }));
  for (const { id, way, body } of rows)
    await sql`insert into unread_webhooks (id, plugin, source, slug, headers, body, way, received_at)
      values (${id}, 'tickets', 'tickets', 'tickets', '{}', ${Buffer.from(body)}, ${way}, '2026-01-02T00:00:00Z')`;
  const ids = rows.map(({ id }) => id);
  await discardDeferred(sql, ids, "erased");
  expect(await sql`select id, delivery_id from webhook_events where id = any(${ids}::uuid[]) order by id`).toEqual([
    { id: ids[0], delivery_id: null },
    { id: ids[1], delivery_id: "m-1" },
    { id: ids[2], delivery_id: null },
  ]);
  const names =
    await sql`select slug, encode(digest, 'hex') as digest, event_id, received_at from webhook_bodies order by event_id, slug`;
  const kept = rows.slice(1).flatMap(({ id, body }) =>
    ["tickets", "tickets previous"].map((slug) => ({
      slug,
      digest: sha256Of(body),
      event_id: id,
      received_at: "2026-01-02T00:00:00.000Z",
    })),
  );
  expect(names).toEqual(kept);
});

test("an id of a message is kept as its event would have it", { tags: ["postgres"] }, async () => {
  const messages = ["nul \0", "half \ud800", `${"x".repeat(499)}\u{1F600}`, "y".repeat(9_000), ""];
  const rows = messages.map((messageId) => ({ id: newId(), way: JSON.stringify({ messageId, own: false }) }));
  for (const { id, way } of rows)
    await sql`insert into unread_webhooks (id, plugin, source, slug, headers, body, way)
      values (${id}, 'tickets', 'tickets', 'of-queue', '{}', ${Buffer.from("{}")}, ${way})`;
  await discardDeferred(
    sql,
    rows.map(({ id }) => id),
    "erased",
  );
  const kept = await sql<{ delivery_id: string }[]>`select delivery_id from webhook_events where slug = 'of-queue' order by id`;
  expect(kept.map(({ delivery_id }) => delivery_id)).toEqual([
    "nul \ufffd",
    "half \ufffd",
    `${"x".repeat(499)}\ufffd`,
    "y".repeat(500),
    "",
  ]);
  expect(await sql`select 1 from unread_webhooks where slug = 'of-queue'`).toEqual([]);
});
