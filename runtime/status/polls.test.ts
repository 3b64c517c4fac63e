import type { MemoryStore } from "@signalbox/sdk";
import { afterAll, beforeAll, expect, test } from "vitest";
import { newId } from "../platform/ids.ts";
import type { SourceEntry } from "../plugins/host.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import type { Finding } from "./board.ts";
import { type OwnReplica, saveReplica } from "./queries.ts";
import { memoryStoreProbe, storedProbes } from "./stored-probes.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
});
afterAll(() => door?.close());

const polled = { adapter: { poll: async () => ({}) } } as unknown as SourceEntry;
const loaded = { sources: new Map([["alpha", polled]]), knowledge: new Map(), useCases: new Map() };
const findings = async (probe = 0): Promise<readonly Finding[]> =>
  (await storedProbes(door.sql, loaded)[probe]?.run(new AbortController().signal)) ?? [];

test("a poll source that fails or is late is shown, even if a hundred others work", async () => {
  await door.sql`
    insert into poll_sources (source, project_id, interval_minutes, enabled, next_poll_at, last_polled_at, last_error)
    select 'alpha', 'octo/app' || n, 5, true, now() + interval '1 minute', now(), case when n = 150 then 'alpha answered 502' end
    from generate_series(1, 150) n`;
  const [first, ...others] = await findings();
  expect(first).toMatchObject({ name: "poll:alpha octo/app150", state: "failed", message: "alpha answered 502" });
  expect(others.every(({ state }) => state === "ok")).toBe(true);
  await door.sql`update poll_sources set next_poll_at = now() - interval '20 minutes' where project_id = 'octo/app140'`;
  const [, late] = await findings();
  expect(late).toMatchObject({
    name: "poll:alpha octo/app140",
    state: "degraded",
    message: expect.stringMatching(/^it has been due since \S+Z, and no replica has polled it yet$/),
  });
  // It came due while the service was stopped.
  await door.sql`
    insert into replicas (id, host, role, version, running, started_at, settings)
    values (gen_random_uuid(), 'host', 'all', '1', 0, now() - interval '1 minute', null)`;
  expect((await findings()).filter(({ state }) => state === "degraded")).toEqual([]);
  await door.sql`update replicas set started_at = now() - interval '11 minutes'`;
  expect((await findings())[1]).toMatchObject({ name: "poll:alpha octo/app140", state: "degraded" });
  // It restarts again and again.
  await door.sql`update replicas set started_at = now() - interval '1 minute'`;
  await door.sql`insert into worker_uptime (since) values (now() - interval '11 minutes')`;
  expect((await findings())[1]).toMatchObject({ name: "poll:alpha octo/app140", state: "degraded" });
  await door.sql`update worker_uptime set seen_at = now() - interval '3 minutes'`;
  expect((await findings()).filter(({ state }) => state === "degraded")).toEqual([]);
});

test("the time since workers have been up goes on after a restart and begins again after a longer gap", async () => {
  const beat = (role: OwnReplica["role"]) => {
    return saveReplica(door.sql, { id: newId(), host: "h", role, version: "1", running: 0, settings: {}, process: null });
  };
  const age = async () => {
    const [row] = await door.sql<[{ seconds: number }]>`
      select extract(epoch from now() - since)::int as seconds from worker_uptime`;
    return row.seconds;
  };
  const upSince = (minutes: number, seen: number) => door.sql`
    update worker_uptime set since = now() - ${minutes} * interval '1 minute', seen_at = now() - ${seen} * interval '1 minute'`;
  await upSince(60, 1);
  await beat("worker");
  expect(await age()).toBeGreaterThan(3_500);
  await upSince(60, 3);
  await beat("api");
  expect(await age()).toBeGreaterThan(3_500);
  await beat("all");
  expect(await age()).toBeLessThan(60);
});

test("what needs a plugin that was removed is shown at once, with what to do", async () => {
  await door.sql`delete from poll_sources`;
  const [poll] = await door.sql<[{ id: string }]>`
    insert into poll_sources (source, project_id, interval_minutes, enabled, next_poll_at)
    values ('tickets', 'web', 5, true, now() + interval '1 minute') returning id::text`;
  const source = newId();
  await door.sql`insert into knowledge_sources (id, name, type, enabled) values (${source}, 'Handbook', 'handbook', true)`;
  await door.sql`insert into use_cases (name, state) values ('rollout', '{"project": 1}'), ('torn-down', 'null')`;
  expect(await findings()).toEqual([
    {
      name: "poll:tickets web",
      state: "failed",
      next_try_at: expect.any(String),
      message: `no running plugin polls the source tickets. Install, enable or correct its plugin, or delete the poll source: signalbox poll-sources delete ${poll.id}`,
    },
  ]);
  expect(await findings(2)).toMatchObject([
    {
      name: "knowledge:Handbook",
      state: "failed",
      message: `no running plugin provides the connector handbook. Install, enable or correct its plugin, or delete the knowledge source: signalbox knowledge-sources delete ${source}`,
    },
  ]);
  expect(await findings(3)).toMatchObject([
    { name: "use_case:rollout", state: "degraded", message: expect.stringMatching(/signalbox use-cases teardown rollout$/) },
  ]);
  const store = (name: string) => memoryStoreProbe(name, { memories: new Map([["pgvector", {} as MemoryStore]]) });
  expect(await store("pgvector").run(new AbortController().signal)).toEqual([]);
  expect(await store("sqlite").run(new AbortController().signal)).toMatchObject([
    { name: "memory_store", state: "failed", message: expect.stringContaining("memory store sqlite") },
  ]);
});
