import { problem } from "@signalbox/schema/problem";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { agentOperations } from "../agents/operations.ts";
import { openBus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { DatabaseUnavailable } from "../platform/database/unavailable.ts";
import { newId } from "../platform/ids.ts";
import type { BoundOperation } from "../platform/operation.ts";
import { type Door, noLog, openDoor } from "../transports/http/testing/door.ts";
import { ChangeRecorder } from "./change-recorder.ts";
import { verifyLog } from "./log-queries.ts";
import { auditOperations } from "./operations.ts";
import { recordChanges } from "./record-changes.ts";

const failures: unknown[] = [];
const recorderOf = (replica: string) => new ChangeRecorder({ replica, onError: (error) => void failures.push(error) });
const replica = newId();
const recorder = recorderOf(replica);
/** Called in the place of an operation. */
let instead: ((run: () => Promise<unknown>) => Promise<unknown>) | null = null;
/** Whether a statement with this text fails. */
let broken: ((text: string) => "before" | "after" | null) | null = null;
let door: Door;

/** Statements fail before or after they are carried out, as `broken` says. */
const breakable = (sql: Sql): Sql =>
  new Proxy(sql, {
    apply: (target, self, args) => {
      const fails = broken?.(String(args[0]?.join?.("?"))) ?? null;
      const run = () => Reflect.apply(target, self, args);
      const fail = async () => {
        if (fails === "after") await run();
        throw new DatabaseUnavailable();
      };
      return fails === null ? run() : fail();
    },
  });

beforeAll(async () => {
  door = await openDoor(async (database) => {
    const bound = agentOperations(await openBus(database, noLog));
    const replaceable = bound.map(({ op, run }) => {
      const runOrInstead: BoundOperation["run"] = (input, context) => {
        const own = () => run(input, Object.create(context, { sql: { value: door.sql } })) as Promise<unknown>;
        return instead && op.id !== "agents.get" ? instead(own) : own();
      };
      return { op, run: runOrInstead };
    });
    const recorded = recordChanges(replaceable, { recorder, pseudonymOf: (name) => name }).map(({ op, run }) => {
      const onBreakable: BoundOperation["run"] = (input, context) =>
        run(input, Object.create(context, { sql: { value: breakable(door.sql) } }));
      return { op, run: onBreakable };
    });
    return [...recorded, ...auditOperations(() => ["alpha"])];
  });
}, 60_000);
afterAll(() => door?.close());
beforeEach(async () => {
  [instead, broken] = [null, null];
  failures.length = 0;
  await door.sql`delete from agents`;
  await door.sql`delete from open_changes`;
  await door.sql`delete from replicas`;
  await door.sql`delete from audit_log`;
  await door.sql`update audit_head set seq = 0, removed_to = 0, hash = decode(repeat('00', 32), 'hex')`;
});

const body = { id: "worker", name: "Worker", role_id: "dev", prompt: "p", auth_enabled: true, auth_secret: "s3cret-agent" };
const create = (more = {}) => door.post("/api/agents", { ...body, ...more });
const entries = async () => (await door.get("/api/audit-log")).body;
const objectOf = ({ object }: { object: string }) => object;
const openChanges = () => door.sql<{ entry: string }[]>`select entry::text from open_changes`;
const age = () => door.sql`update open_changes set begun_at = now() - interval '21 seconds'`;
/** A change that a process began 21 seconds ago, before it ended. */
async function beginLost(object: string): Promise<void> {
  const change = { actor: "anyone", operation: "agents.delete", object, before: null, after: null, request_id: "r" };
  await recorderOf(newId()).begin(door.sql, JSON.stringify({ at: new Date().toISOString(), ...change }));
  await age();
}
const check = async (times: number, by = recorderOf(newId()), silentSeconds = 360) => {
  for (let n = 0; n < times; n++) await by.check(door.sql, silentSeconds);
};
const unknown = { name: "Worker", is_complete: false };
const stopped = { ...unknown, error: "The service stopped before it recorded the result; check whether the change was made." };

test("while a change is made, it is stored with what its responses show; then its entry replaces it", async () => {
  let during: readonly { entry: string }[] = [];
  instead = async (run) => {
    during = await openChanges();
    return run();
  };
  expect((await create()).status).toBe(201);
  expect(during).toHaveLength(1);
  const open = JSON.parse(during[0]?.entry ?? "");
  expect(open).toMatchObject({
    actor: "anyone",
    operation: "agents.create",
    object: "agents/worker",
    before: null,
    after: stopped,
  });
  expect(JSON.stringify(open)).not.toContain("s3cret");
  expect(await openChanges()).toEqual([]);
  const [{ after, request_id }] = await entries();
  expect([request_id, after.name, after.is_complete]).toEqual([open.request_id, "Worker", undefined]);
});

test("a change that is refused leaves nothing", async () => {
  expect((await create()).status).toBe(201);
  expect((await create()).status).toBe(409);
  expect((await door.put("/api/agents/none", { name: "n" })).status).toBe(404);
  expect(await openChanges()).toEqual([]);
  expect(await entries()).toHaveLength(1);
});

test("a change of a replica that ended has one entry, whichever replicas look for it", async () => {
  await create();
  // The process ends during the operation.
  const begun = new Promise<void>((done) => {
    instead = () => {
      done();
      return new Promise(() => {});
    };
  });
  void door.put("/api/agents/worker", { prompt: "q", auth_secret: "s3cret-other" });
  await begun;
  const [one, other] = [recorderOf(newId()), recorderOf(newId())];
  await check(4, one);
  expect(await entries()).toHaveLength(1);
  await age();
  await check(2, one);
  await check(2, other);
  expect(await entries()).toHaveLength(1);
  await Promise.all([check(1, one), check(1, other)]);
  const [entry, ...earlier] = await entries();
  expect(entry).toMatchObject({
    actor: "anyone",
    operation: "agents.update",
    object: "agents/worker",
    before: { name: "Worker", prompt: "p" },
    after: { prompt: "q", is_complete: false, error: stopped.error },
  });
  expect(earlier).toHaveLength(1);
  expect(JSON.stringify(entry)).not.toContain("s3cret");
  expect(await openChanges()).toEqual([]);
  expect(await verifyLog(door.sql)).toMatchObject({ state: "intact", entries: 2 });
});

test("a change that is still being made is not reported while its replica sends heartbeats", async () => {
  let end = (_: unknown) => {};
  const begun = new Promise<void>((done) => {
    instead = async (run) => {
      done();
      await new Promise((resolve) => (end = resolve));
      return run();
    };
  });
  const answer = create();
  await begun;
  await age();
  const beat = (ago: string) => door.sql`
    insert into replicas (id, host, role, version, seen_at) values (${replica}, 'h', 'all', '0', now() - ${ago}::interval)
    on conflict (id) do update set seen_at = excluded.seen_at`;
  await beat("350 seconds");
  await check(4);
  await check(4, recorder);
  expect(await openChanges()).toHaveLength(1);
  expect(await entries()).toEqual([]);
  await beat("370 seconds");
  await check(3);
  expect(await entries()).toMatchObject([{ after: stopped }]);
  // A replica that was only frozen adds the result.
  end(null);
  expect((await answer).status).toBe(201);
  expect(await entries()).toMatchObject([{ operation: "agents.create", after: { id: "worker" } }, { after: stopped }]);
});

test("checks before an outage do not count", async () => {
  await beginLost("agents/lost");
  let checks = 0;
  let isFailing = true;
  broken = (text) => (text.includes("from open_changes c") && ++checks % 3 === 0 && isFailing ? "before" : null);
  const loop = recorderOf(newId()).watch(breakable(door.sql), 360, 10);
  await expect.poll(() => checks).toBeGreaterThan(10);
  expect(await openChanges()).toHaveLength(1);
  isFailing = false;
  await expect.poll(openChanges).toEqual([]);
  await loop.stop();
  expect(await entries()).toMatchObject([{ object: "agents/lost" }]);
});

test.each([
  ["was not carried out", "before"],
  ["was carried out, but its answer was lost", "after"],
] as const)("an entry whose statement %s is in the log once", async (_, when) => {
  broken = (text) => (text.includes("append_to_audit_log") ? when : null);
  expect((await create()).status).toBe(201);
  expect(failures).toHaveLength(1);
  broken = null;
  expect((await create({ id: "other" })).status).toBe(201);
  await check(2, recorder);
  const objects = ["agents/worker", "agents/other"];
  expect((await entries()).map(objectOf)).toEqual(when === "before" ? objects : objects.toReversed());
  expect(await openChanges()).toEqual([]);
  expect(failures).toHaveLength(1);
  expect(await verifyLog(door.sql)).toMatchObject({ state: "intact", entries: 2 });
});

test("an entry that can never be appended does not keep others from the log", async () => {
  await door.sql.unsafe(`create function refuse() returns trigger language plpgsql as $$ begin
      if new.entry ->> 'object' = 'agents/poison' then raise exception 'no'; end if; return new; end $$`);
  await door.sql`create trigger refuse before insert on audit_log for each row execute function refuse()`;
  expect((await create({ id: "poison" })).status).toBe(201);
  await beginLost("agents/lost");
  await check(3, recorder);
  expect((await entries()).map(objectOf)).toEqual(["agents/lost"]);
  await door.sql`drop trigger refuse on audit_log`;
  // A stop tries once more.
  await recorder.watch(door.sql, 360).stop();
  expect((await entries()).map(objectOf)).toEqual(["agents/poison", "agents/lost"]);
});

test.each([
  [() => new Error("mona is not a number"), 500, "Internal error; see the service's log."],
  [() => new DatabaseUnavailable(), 503, "The database does not answer."],
  [() => problem("bad_gateway", "mona is blocked"), 502, "The LLM proxy, the embedding model or the tracker returned an error."],
])("a change that fails half way has an entry, without the text of the error (%#)", async (error, status, reason) => {
  instead = async (run) => {
    await run();
    throw error();
  };
  expect((await create()).status).toBe(status);
  expect(await entries()).toMatchObject([
    { object: "agents/worker", after: { ...unknown, error: `${reason} Check whether the change was made.` } },
  ]);
  expect(await openChanges()).toEqual([]);
});

test.each(["before", "after"] as const)("a change that cannot be stored as open is not made (%s)", async (when) => {
  broken = (text) => (text.includes("insert into open_changes") ? when : null);
  expect((await create()).status).toBe(503);
  broken = null;
  expect((await door.get("/api/agents/worker")).status).toBe(404);
  await age();
  await check(1, recorder);
  expect(await openChanges()).toEqual([]);
  expect(await entries()).toEqual([]);
});
