import type { EffectivePolicy } from "@signalbox/schema/policy";
import { beforeAll, expect, test, vi } from "vitest";
import type { Outbox } from "../../outbox/open.ts";
import type { Bus } from "../../platform/bus.ts";
import { testServer } from "../../platform/database/test-database.ts";
import { useTestDatabase } from "../../platform/database/use-test-database.ts";
import { newId } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { Connection } from "../../plugins/connections.ts";
import { writeChanges } from "../steps/queries.ts";
import { scheduleWriteChecks } from "../write-check-queries.ts";
import { startWriteChecks } from "../write-checks.ts";
import { startPresence } from "./signs.ts";

const database = useTestDatabase();
const sql = () => database().sql;
const noLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => noLog };
const lost = "key of a lost write";

/** An execution with a living comment, one of whose writes was lost, at a tracker that can fail. */
async function makeRun(state: string) {
  const [id, step] = [newId(), newId()];
  const subject = `alpha:octo/app#${id}`;
  const key = `${id}.1`;
  await sql()`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, subject, project, issue, content, state, agent_id, error, lease)
    values (${id}, 't', 'x', 'alpha', 'alpha', ${subject}, 'octo/app', '1', '', ${state}, 'pm_default', 'the model refused', 'held')`;
  await sql()`
    insert into execution_steps (id, execution_id, seq, kind, state, name, key, input, output, agent_id)
    values (${step}, ${id}, 1, 'post', 'succeeded', 'alpha', ${key}, '{"body":"Answer"}', '{"id":"1"}', 'pm_default')`;
  await sql()`
    insert into living_comments (subject, agent, place, connection, comment_id, url, key, settled_by, lost_keys)
    values (${subject}, 'pm_default', 'public', 'environment', '1', '', ${key}, ${state === "failed" ? null : id}, ${[lost]})`;
  const tracker = { shown: key, fails: false };
  const listed = (wanted: string) => {
    if (tracker.fails) throw new Error("the tracker is unavailable");
    return wanted === tracker.shown ? [{ id: "1", url: "" }] : [];
  };
  const adapter = {
    find: async (_: unknown, call: { key: string }) => listed(call.key)[0] ?? null,
    findAll: async (_: unknown, call: { key: string }) => listed(call.key),
    retract: async () => {},
    update: async (_: unknown, comment: unknown, call: { key: string }) => {
      tracker.shown = call.key;
      return comment;
    },
  };
  const connection = { id: "environment", missingSettings: [], source: { adapter }, settings: {} } as unknown as Connection;
  const options = {
    sql: sql(),
    log: noLog,
    connectionFor: async (_: string, work?: { slug: string | null }) => (work?.slug === "alpha" ? connection : null),
    warn: () => {},
    leaseSeconds: 30,
    sweepMs: 50,
  };
  const lostKeys = async () => (await sql()`select lost_keys from living_comments where subject = ${subject}`)[0]?.lost_keys;
  return { id, step, tracker, options, lostKeys };
}

/** After a row was worked on, it is due an hour later than planned: a test that is paused would find it worked on again. */
beforeAll(async () => {
  if (!testServer) return;
  await sql()`
    create function postpone() returns trigger language plpgsql as $$ begin
      if new.due_at > now() then new.due_at = new.due_at + interval '1 hour'; end if;
      return new;
    end $$`;
  for (const table of ["execution_signs", "write_checks"])
    await sql()`
      create trigger postpone before update on ${sql()(table)} for each row
      when (old.lease is not null and new.lease is null) execute function postpone()`;
});

/** Makes a row due, and returns its counts once it was worked on; `null` if it has ended. */
async function workOn(table: string, column: string, id: string) {
  const select = () =>
    sql()`select attempts, looks, due_at > now() and lease is null as is_over from ${sql()(table)} where ${sql()(column)} = ${id}`;
  await sql()`update ${sql()(table)} set due_at = now() - interval '1 second' where ${sql()(column)} = ${id}`;
  return vi.waitFor(
    async () => {
      const [row] = await select();
      expect(row?.is_over ?? true).toBe(true);
      return row ? { attempts: row.attempts, looks: row.looks } : null;
    },
    { timeout: 30_000, interval: 20 },
  );
}

/** What each look does, and the counts after it. The platform fails four times, and once before the last look. */
const looks = [
  { fails: true, attempts: 1, looks: 0 },
  { fails: true, attempts: 2, looks: 0 },
  { fails: true, attempts: 3, looks: 0 },
  { fails: true, attempts: 4, looks: 0 },
  { fails: false, attempts: 0, looks: 1 },
  { fails: false, attempts: 0, looks: 2 },
  { fails: false, attempts: 0, looks: 3 },
  { fails: true, attempts: 1, looks: 3 },
];

test("looks of a write check that fail do not count: lost writes are kept until the fifth that succeeds", {
  tags: ["postgres"],
}, async () => {
  const { step, tracker, options, lostKeys } = await makeRun("succeeded");
  await sql()`insert into write_checks (step_id, due_at) values (${step}, now() + interval '1 hour')`;
  const checks = startWriteChecks({ ...options, tools: { get: () => undefined } });
  try {
    for (const { fails, ...counts } of [...looks, { fails: false, attempts: 0, looks: 4 }]) {
      tracker.fails = fails;
      expect(await workOn("write_checks", "step_id", step)).toEqual(counts);
      expect(await lostKeys()).toEqual([lost]);
    }
    expect(await workOn("write_checks", "step_id", step)).toBeNull();
    expect(await lostKeys()).toEqual([]);
  } finally {
    await checks.stop();
  }
});

test("the same for a sign: lost writes are kept until the fourth look that succeeds", { tags: ["postgres"] }, async () => {
  const { id, tracker, options, lostKeys } = await makeRun("failed");
  await sql()`insert into execution_signs (execution_id, sign, due_at) values (${id}, 'failed', now() + interval '1 hour')`;
  const policy = { presence: { value: "comment" }, staged: { value: false }, approve: { value: [] } };
  const presence = startPresence({
    ...options,
    bus: { on() {} } as unknown as Bus,
    policies: { of: () => policy as unknown as EffectivePolicy },
    outbox: { of: () => ({ withoutSecrets: (text: string) => text }) } as unknown as Outbox,
    trackerUpdates: true,
  });
  try {
    // Its notice is written first.
    for (const { fails, ...counts } of [{ fails: false, attempts: 0, looks: 0 }, ...looks]) {
      tracker.fails = fails;
      expect(await workOn("execution_signs", "execution_id", id)).toEqual(counts);
      expect(await lostKeys()).toEqual([lost]);
    }
    tracker.fails = false;
    expect(await workOn("execution_signs", "execution_id", id)).toBeNull();
    expect(await lostKeys()).toEqual([]);
  } finally {
    await presence.stop();
  }
});

test("a further write in doubt starts the looks of its check again", { tags: ["postgres"] }, async () => {
  const { id, step } = await makeRun("running");
  const counts = async () => (await sql()`select attempts, looks from write_checks where step_id = ${step}`)[0];
  const [stored] = await sql()`select * from execution_steps where id = ${step}`;
  const again = [
    () => scheduleWriteChecks(sql(), [step], 60_000),
    () =>
      writeChanges(sql(), [
        {
          id,
          lease: "held",
          steps: [],
          completed: [{ ...stored, check_ms: 60_000 } as never],
          patch: { agent_id: "pm_default" },
        },
      ]),
  ];
  for (const schedule of again) {
    await sql()`
      insert into write_checks (step_id, due_at, attempts, looks) values (${step}, now() + interval '1 hour', 3, 4)
      on conflict (step_id) do update set attempts = 3, looks = 4`;
    await schedule();
    expect(await counts()).toEqual({ attempts: 0, looks: 0 });
  }
});
