import type { MemoryStore } from "@signalbox/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type MemoryDoor, openMemoryDoor } from "../memory/testing/memory-door.ts";
import { newId } from "../platform/ids.ts";
import { ChangeRecorder } from "./change-recorder.ts";
import { verifyLog } from "./log-queries.ts";
import { recordChanges } from "./record-changes.ts";

const stored = new Map<string, object>();
/** A store outside of the database, for memories of the scope `task`. */
const short = {
  put: async (memory: { key: string }) => !stored.has(memory.key) && Boolean(stored.set(memory.key, memory)),
  get: async (key: string) => stored.get(key) ?? null,
} as unknown as MemoryStore;
const failures: unknown[] = [];
let opened: MemoryDoor;
beforeAll(async () => {
  const wrap = (all: Parameters<typeof recordChanges>[0]) =>
    recordChanges(all, {
      pseudonymOf: (name) => name,
      recorder: new ChangeRecorder({ replica: newId(), onError: (error) => void failures.push(error) }),
    });
  opened = await openMemoryDoor({ short, wrap });
}, 60_000);
afterAll(() => opened?.close());

const create = (key: string, scope = "organizational") =>
  opened.door.post("/api/memory", { key, content: `content of ${key}`, scope });
const entriesOf = (key: string) => opened.door.sql<{ operation: string; after: string; request_id: string }[]>`
  select operation, entry ->> 'after' as after, entry ->> 'request_id' as request_id from audit_log where object = ${`memory/${key}`}`;

test("memories that are created at the same time have one entry each, without their contents", async () => {
  const keys = Array.from({ length: 40 }, (_, i) => `key ${i}`);
  const answers = await Promise.all(keys.map((key) => create(key)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  for (const [i, key] of keys.entries()) {
    const [entry, ...others] = await entriesOf(key);
    expect(others).toEqual([]);
    const { content: _, ...rest } = answers[i]?.body ?? {};
    expect(entry).toMatchObject({ operation: "memory.create", request_id: expect.stringMatching(/-/) });
    expect(JSON.parse(entry?.after ?? "")).toEqual(rest);
  }
  expect(await verifyLog(opened.door.sql)).toMatchObject({ state: "intact", entries: 40 });
});

test("a memory in another store has one entry too", async () => {
  expect((await create("short", "task")).status).toBe(201);
  expect(await entriesOf("short")).toHaveLength(1);
});

test("a memory that is refused has no entry", async () => {
  expect((await create("taken")).status).toBe(201);
  const [first, second] = await Promise.all([create("taken"), create("taken", "task")]);
  expect([first?.status, second?.status]).toEqual([409, 409]);
  expect((await opened.door.post("/api/memory", { key: "lost", content: "c", scope: "agent", agent_id: "missing" })).status).toBe(
    400,
  );
  expect(await entriesOf("taken")).toHaveLength(1);
  expect(await entriesOf("lost")).toEqual([]);
});

test("a memory whose entry cannot be stored is not stored either", async () => {
  const { sql } = opened.door;
  await sql
    .unsafe(`create function refuse() returns trigger language plpgsql as $$ begin raise exception 'full'; end $$;
    create trigger refuse before insert on audit_log for each row execute function refuse()`)
    .simple();
  expect((await create("both")).status).toBe(500);
  expect((await opened.door.get("/api/memory/both")).status).toBe(404);
  await sql`drop trigger refuse on audit_log`;
  expect((await create("both")).status).toBe(201);
  expect(await entriesOf("both")).toHaveLength(1);
  expect(failures).toEqual([]);
});
