import { PluginError } from "@signalbox/sdk";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openBus } from "../platform/bus.ts";
import { newId } from "../platform/ids.ts";
import { renewLease, untilDue } from "../platform/lease-queries.ts";
import { createVault } from "../platform/vault.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { openEgressAllowlist } from "./egress-allowlist.ts";
import { changeOf } from "./ingest.ts";
import { claimJob, type Job, jobRows, listJobs, openDueJobs, openJob, postponeJob } from "./job-queries.ts";
import { findSource, updateSource } from "./queries.ts";
import { startSyncs } from "./runner.ts";
import { PageMap } from "./test-map.ts";

let door: Door;
let source = "";
const warnings: string[] = [];
const map = new PageMap();
const connectors = new Map([["map", { name: "map", plugin: "map", knowledge: map.connector }]]);

beforeAll(async () => {
  door = await openDoor(() => []);
});
afterAll(() => door?.close());
beforeEach(async () => {
  map.reset();
  warnings.length = 0;
  await door.sql`delete from knowledge_sources`;
  source = newId();
  await door.sql`insert into knowledge_sources (id, name, type, enabled, created_at)
    values (${source}, 'Map', 'map', false, now() - interval '1 day')`;
});

/** Runs the open jobs to their end, or until `until` returns true. */
async function run(until: (job: Job) => boolean = ({ status }) => status === "succeeded" || status === "failed"): Promise<Job> {
  const bus = await openBus(door.database, noLog);
  const runner = startSyncs({
    sql: door.sql,
    bus,
    log: noLog,
    vault: createVault([]),
    knowledge: connectors,
    egress: openEgressAllowlist(),
    onChunksAdded: () => {},
    warn: (message) => void warnings.push(message),
    leaseSeconds: 30,
    everyMinutes: 0,
    sweepMs: 20,
  });
  try {
    for (const end = Date.now() + 60_000; Date.now() < end; ) {
      const [job] = (await listJobs(door.sql, source, { limit: 1, offset: 0 })).items;
      if (job && until(job)) return job;
      await new Promise((done) => setTimeout(done, 10));
    }
    throw new Error("the job did not come so far within 60 s");
  } finally {
    await runner.stop();
    await bus.close();
  }
}
const sync = async (until?: (job: Job) => boolean) => {
  await openJob(door.sql, newId(), source);
  return run(until);
};
const indexed = () =>
  door.sql<{ page_id: string; content: string }[]>`select page_id, content from document_chunks order by page_id, chunk_index`;

describe("a sync", () => {
  test("keeps a page that a listing missed, and removes one that can no longer be read", async () => {
    for (const id of ["a", "b", "c"]) map.put(id, `Body of ${id}`);
    expect(await sync()).toMatchObject({ status: "succeeded", pages_seen: 3, pages_changed: 3, chunks_written: 3 });
    // c was deleted; the listing lost b, because the pages behind c moved up.
    map.pages.delete("c");
    map.portions = [["a"]];
    expect(await sync()).toMatchObject({ status: "succeeded", pages_seen: 1, pages_deleted: 1, chunks_written: 0 });
    expect((await indexed()).map(({ page_id }) => page_id)).toEqual(["a", "b"]);
  });

  test.each<[string, (cursor: number) => number]>([
    ["in a circle", (cursor) => (cursor + 1) % 3],
    ["the same under ever new cursors", (cursor) => cursor + 1],
  ])("a listing that returns pages %s fails, and removes nothing", { timeout: 120_000 }, async (_, next) => {
    for (const id of ["a", "b"]) map.put(id, `Body ${id}`);
    await sync();
    map.nextPortion = next;
    map.portions = Array.from({ length: 300 }, () => ["a"]);
    expect(await sync()).toMatchObject({ status: "failed", error: expect.stringMatching(/listing loops/) });
    expect((await door.sql`select 1 from knowledge_pages where knowledge_source_id = ${source}`).length).toBe(2);
  });

  test("counts a page that is listed twice once", async () => {
    for (const id of ["a", "b"]) map.put(id, "x");
    map.portions = [["a", "b"], ["b", "a"], ["b"]];
    expect(await sync()).toMatchObject({ pages_seen: 2, pages_changed: 2, chunks_written: 2 });
  });

  test("a page that disappears between list and read leaves nothing behind", async () => {
    map.put("a", "x");
    map.portions = [["a", "ghost"]];
    expect(await sync()).toMatchObject({ status: "succeeded", pages_seen: 2, pages_changed: 1, pages_deleted: 1 });
    expect((await indexed()).map(({ page_id }) => page_id)).toEqual(["a"]);
  });

  test("after a temporary failure it waits, says why, and resumes where it was", async () => {
    for (let i = 0; i < 60; i++) map.put(`p${String(i).padStart(2, "0")}`, "x");
    const read = map.connector.read;
    const second = async (ids: readonly string[], call: Parameters<typeof read>[1]) => {
      if (map.reads.length === 1) map.failure = new PluginError("unavailable", "the map is folded");
      return read(ids, call);
    };
    Object.assign(map.connector, { read: second });
    const waiting = await sync(({ status, error }) => status === "queued" && error !== null);
    Object.assign(map.connector, { read });
    expect(waiting).toMatchObject({ error: "the map is folded", pages_changed: 25 });
    map.failure = null;
    map.reads = [];
    await door.sql`update ingestion_jobs set next_attempt_at = now()`;
    expect(await run()).toMatchObject({ status: "succeeded", pages_changed: 60, error: null });
    expect(map.reads.map((ids) => ids.length)).toEqual([25, 10]);
  });

  test("an unreadable page does not stop the others, and the next sync tries it again", async () => {
    for (let i = 0; i < 40; i++) map.put(`p${String(i).padStart(2, "0")}`, "x");
    const read = map.connector.read;
    const broken: typeof read = async (ids, call) => {
      if (ids.includes("p07")) throw new PluginError("unavailable", "page p07 is torn");
      return read(ids, call);
    };
    Object.assign(map.connector, { read: broken });
    const hurry = setInterval(() => void door.sql`update ingestion_jobs set next_attempt_at = now()`.catch(() => {}), 20);
    const job = await sync().finally(() => clearInterval(hurry));
    Object.assign(map.connector, { read });
    expect(job).toMatchObject({ status: "succeeded", pages_seen: 40, pages_changed: 39 });
    expect(job.error).toBe("failed to read 1 page; first p07: page p07 is torn");
    expect(await sync()).toMatchObject({ status: "succeeded", pages_changed: 1, error: null });
    expect(await indexed()).toHaveLength(40);
  });

  test("an unreadable page, listed or not, stops no deletion and is not removed", async () => {
    for (const id of ["kept", "lost", "torn", "veiled"]) map.put(id, "x");
    await sync();
    map.put("torn", "y", "2");
    map.portions = [["kept", "torn"]];
    map.pages.delete("lost");
    const read = map.connector.read;
    const broken: typeof read = async (ids, call) => {
      const bad = ids.find((id) => ["torn", "veiled"].includes(id));
      if (bad) throw new PluginError("unavailable", `page ${bad} is torn`);
      return read(ids, call);
    };
    Object.assign(map.connector, { read: broken });
    const hurry = setInterval(() => void door.sql`update ingestion_jobs set next_attempt_at = now()`.catch(() => {}), 20);
    const job = await sync().finally(() => clearInterval(hurry));
    Object.assign(map.connector, { read });
    expect(job).toMatchObject({ status: "succeeded", pages_deleted: 1 });
    expect(job.error).toBe("failed to read 2 pages; first torn: page torn is torn");
    expect((await indexed()).map(({ page_id }) => page_id)).toEqual(["kept", "torn", "veiled"]);
  });

  test("fails after six failures without progress, and at once if the error is permanent", async () => {
    map.put("a", "x");
    map.failure = new PluginError("unavailable", "the map is folded");
    await openJob(door.sql, newId(), source);
    const hurry = setInterval(
      () => void door.sql`update ingestion_jobs set next_attempt_at = now() where attempts < 6`.catch(() => {}),
      20,
    );
    expect(await run().finally(() => clearInterval(hurry))).toMatchObject({ status: "failed", error: "the map is folded" });
    expect(map.reads).toHaveLength(6);
    map.reads = [];
    map.failure = new PluginError("unauthorized", "not your map");
    expect(await sync()).toMatchObject({ status: "failed", error: "not your map" });
    expect(map.reads).toHaveLength(1);
    expect(warnings).toHaveLength(2);
  });
});

describe("jobs", () => {
  test("a source has one open job, which another replica takes when its lease ends", async () => {
    const [one, two] = await Promise.all([openJob(door.sql, newId(), source), openJob(door.sql, newId(), source)]);
    expect(one?.id).toBe(two?.id);
    const first = await claimJob(door.sql, newId(), 600);
    expect(first?.id).toBe(one?.id);
    expect(await claimJob(door.sql, newId(), 600)).toBeUndefined();
    await door.sql`update ingestion_jobs set lease_expires_at = lease_expires_at - interval '600 seconds'`;
    const second = await claimJob(door.sql, newId(), 600);
    expect(second?.id).toBe(one?.id);
    // No replica looks for it repeatedly while another one works on it.
    expect(await untilDue(door.sql, jobRows)).toBeGreaterThan(20_000);
    expect(await renewLease(door.sql, jobRows, first as never, 600)).toBe(false);
    await postponeJob(door.sql, first as never, "late", 1);
    expect((await listJobs(door.sql, source, { limit: 1, offset: 0 })).items[0]).toMatchObject({
      status: "running",
      error: null,
    });
    expect(await openJob(door.sql, newId(), newId())).toBeUndefined();
  });

  test("an enabled source is due when its last sync began an interval ago", async () => {
    expect(await openDueJobs(door.sql, 60, newId)).toBe(0);
    await door.sql`update knowledge_sources set enabled = true`;
    expect(await openDueJobs(door.sql, 60, newId)).toBe(1);
    expect(await openDueJobs(door.sql, 60, newId)).toBe(0);
    await door.sql`update ingestion_jobs set status = 'failed', created_at = now() - interval '59 minutes'`;
    expect(await openDueJobs(door.sql, 60, newId)).toBe(0);
    await door.sql`update ingestion_jobs set created_at = now() - interval '61 minutes'`;
    expect(await openDueJobs(door.sql, 60, newId)).toBe(1);
  });
});

test("a page whose first heading equals its title has the title once", () => {
  const page = { id: "p", revision: "1", title: "Day  one", url: null, space: null };
  const { addedChunks } = changeOf({ ...page, body: "# Day one\na\n## Noon\nb\n# Day two\nc" }, []);
  expect(addedChunks.map(({ content, metadata }) => [content, metadata.heading_path])).toEqual([
    ["Day one\n\na", []],
    ["Day one › Noon\n\nb", ["Noon"]],
    ["Day one › Day two\n\nc", ["Day two"]],
  ]);
  expect(changeOf({ ...page, title: "", body: "a" }, []).addedChunks.map(({ content }) => content)).toEqual(["a"]);
});

test("chunks with unchanged text keep their rows", () => {
  const page = { id: "p", revision: "1", title: "T", url: null, space: null };
  const first = changeOf({ ...page, body: "# A\na\n# B\nb\n# C\nc" }, []);
  expect(first.addedChunks.map(({ content }) => content)).toEqual(["T › A\n\na", "T › B\n\nb", "T › C\n\nc"]);
  const second = changeOf({ ...page, body: "# A\na\n# New\nn\n# B\nb" }, first.addedChunks);
  expect(second.addedChunks.map(({ content }) => content)).toEqual(["T › New\n\nn"]);
  expect(second.movedChunks).toEqual([
    { id: first.addedChunks[1]?.id, chunk_index: 2, metadata: first.addedChunks[1]?.metadata },
  ]);
  expect(second.deletedIds).toEqual([first.addedChunks[2]?.id]);
});

test("of two changes of a source at the same time, the second does not discard the first", async () => {
  const before = await findSource(door.sql, source);
  if (!before) throw new Error("the source is missing");
  const after = await updateSource(door.sql, before, { config: { root: "a", depth: 1.5 }, enabled: true });
  expect(await updateSource(door.sql, before, { name: "Other" })).toBeUndefined();
  expect(await findSource(door.sql, source)).toEqual(after);
  expect(await updateSource(door.sql, after ?? before, { name: "Other" })).toMatchObject({ name: "Other", enabled: true });
});
