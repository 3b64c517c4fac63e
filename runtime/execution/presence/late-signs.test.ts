import type { EffectivePolicy } from "@signalbox/schema/policy";
import type { NewComment } from "@signalbox/sdk";
import { beforeEach, expect, test, vi } from "vitest";
import type { Outbox } from "../../outbox/open.ts";
import type { Bus } from "../../platform/bus.ts";
import { useTestDatabase } from "../../platform/database/use-test-database.ts";
import { newId } from "../../platform/ids.ts";
import type { Log } from "../../platform/log.ts";
import type { Connection } from "../../plugins/connections.ts";
import { writeLiving } from "../living-comment/write-living.ts";
import { claimSign, type Sign } from "./queries.ts";
import { showLiving } from "./show-living.ts";
import { startPresence } from "./signs.ts";

const database = useTestDatabase();
// A claimed sign of an earlier test would become due again when its lease ends.
beforeEach(async () => {
  await sql()`delete from execution_signs`;
  await sql()`delete from task_executions`;
});
const sql = () => database().sql;

const subject = "alpha:octo/app#1";
const noLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => noLog };
const signal = new AbortController().signal;
/** A tracker whose only comment is this one. */
let shown: string | null = null;
const write = async ({ body }: NewComment) => {
  shown = body;
  return { id: "1", url: "https://tracker.example/1" };
};
const adapter = { deliver: write, update: write, find: async () => null };
const connection = { id: "environment", source: { adapter }, settings: {} } as unknown as Connection;
const outbox = { of: () => ({ withoutSecrets: (text: string) => text }) } as unknown as Outbox;

async function running(): Promise<string> {
  const id = newId();
  await sql()`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, subject, project, issue, content, state, agent_id, has_sign)
    values (${id}, 't', 'x', 'alpha', 'alpha', ${subject}, 'octo/app', '1', '', 'running', 'pm_default', true)`;
  // Stored times are rounded to milliseconds, so the stored time of now can be later than now.
  await sql()`insert into execution_signs (execution_id, sign, due_at) values (${id}, 'working', now() - interval '1 second')`;
  return id;
}
const claimed = async (): Promise<Sign> => (await claimSign(sql(), newId(), 30)) as Sign;
const show = (sign: Sign) => showLiving(sign, connection, signal, { sql: sql(), outbox, leaseSeconds: 10, warn: () => {} });
const post = (body: string): NewComment => ({ subject: { project: "octo/app", issue: "1" }, body });
const answer = (executionId: string, body: string) =>
  writeLiving(
    {
      sql: sql(),
      connection,
      subject,
      agentId: "pm_default",
      executionId,
      key: `${executionId}.answer`,
      post: post(body),
      decide: () => ({ kind: "show", text: post(body) }),
      purpose: "answer",
      windowMs: 10_000,
    },
    signal,
  );
const storeAnswer = (executionId: string, state: string) =>
  sql()`insert into execution_steps (id, execution_id, seq, kind, state) values (${newId()}, ${executionId}, 1, 'post', ${state})`;
const end = (executionId: string, state: string) =>
  sql()`update task_executions set state = ${state}, finished_at = now() where id = ${executionId}`;

test("a sign that waited until its run and a later one had answered leaves their answer", { tags: ["postgres"] }, async () => {
  const first = await running();
  const late = await claimed();
  await answer(first, "Answer of first");
  await end(first, "succeeded");
  await answer(newId(), "Answer of second");
  await show(late);
  expect(shown).toBe("Answer of second");
});

test.each(["started", "succeeded"])(
  "so does one whose run has sent its answer (%s) but not ended",
  { tags: ["postgres"] },
  async (state) => {
    const first = await running();
    const late = await claimed();
    await answer(first, "Answer of first");
    await storeAnswer(first, state);
    await answer(newId(), "Answer of second");
    await show(late);
    expect(shown).toBe("Answer of second");
    await end(first, "succeeded");
  },
);

test("a sign of a cancelled run does not say again that it is working", { tags: ["postgres"] }, async () => {
  await answer(newId(), "Answer of an earlier run");
  const cancelled = await running();
  const late = await claimed();
  await end(cancelled, "cancelled");
  await show(late);
  expect(shown).toBe("Answer of an earlier run");
});

test("a sign that another replica has claimed meanwhile is not shown", { tags: ["postgres"] }, async () => {
  await answer(newId(), "Answer of an earlier run");
  const next = await running();
  const late = await claimed();
  await sql()`update execution_signs set lease_expires_at = now() - interval '1 second' where execution_id = ${next}`;
  const current = await claimed();
  await show(late);
  expect(shown).toBe("Answer of an earlier run");
  await show(current);
  expect(shown).toContain("is working on this");
});

test("no reaction says that a run is working once it has ended", { tags: ["postgres"] }, async () => {
  const run = await running();
  const reactions: unknown[] = [];
  const react = async (_: unknown, reaction: unknown) => void reactions.push(reaction);
  const presence = startPresence({
    sql: sql(),
    bus: { on() {} } as unknown as Bus,
    log: noLog,
    policies: { of: () => ({ presence: { value: "reaction" } }) as EffectivePolicy },
    outbox,
    trackerUpdates: true,
    leaseSeconds: 10,
    warn: () => {},
    connectionFor: async () => {
      await end(run, "succeeded");
      return { ...connection, missingSettings: [], source: { adapter: { react } } } as unknown as Connection;
    },
  });
  presence.wake();
  await vi.waitFor(async () => expect(await sql()`select from execution_signs`).toHaveLength(0), { timeout: 20_000 });
  await presence.stop();
  expect(reactions).toEqual(["done"]);
});
