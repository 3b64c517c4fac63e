import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { listKnowledge } from "./queries.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
});
afterAll(() => door?.close());

test("a knowledge source fails while its sync waits to be tried again, until one succeeds", async () => {
  const source = newId();
  await door.sql`insert into knowledge_sources (id, name, type, enabled) values (${source}, 'Handbook', 'wiki', true)`;
  const job = async (status: string, error: string | null) =>
    door.sql`insert into ingestion_jobs (id, knowledge_source_id, status, error) values (${newId()}, ${source}, ${status}, ${error})`;
  const shown = async () => (await listKnowledge(door.sql))[0];
  await job("queued", null);
  const named = { id: source, name: "Handbook", needs: "wiki" };
  expect(await shown()).toEqual({ ...named, error: null, next_try_at: null, has_run: false });
  await door.sql`update ingestion_jobs set error = 'wiki.example does not answer', attempts = 1`;
  expect(await shown()).toEqual({
    ...named,
    error: "wiki.example does not answer",
    next_try_at: expect.any(String),
    has_run: true,
  });
  await door.sql`update ingestion_jobs set status = 'running'`;
  expect(await shown()).toMatchObject({ error: "wiki.example does not answer", next_try_at: null });
  // A sync that could not read some pages has succeeded.
  await door.sql`update ingestion_jobs set status = 'succeeded', error = 'failed to read 1 page'`;
  expect(await shown()).toMatchObject({ error: null, has_run: true });
  await job("failed", null);
  expect(await shown()).toMatchObject({ error: "the last sync failed" });
});
