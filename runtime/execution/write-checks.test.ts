import { setImmediate as nextTurn } from "node:timers/promises";
import { PluginError } from "@signalbox/sdk";
import { expect, test, vi } from "vitest";
import { useTestDatabase } from "../platform/database/use-test-database.ts";
import { newId } from "../platform/ids.ts";
import type { Log } from "../platform/log.ts";
import { currentFence } from "../platform/write-fence.ts";
import type { Connection } from "../plugins/connections.ts";
import { startWriteChecks } from "./write-checks.ts";

const database = useTestDatabase();
const sql = () => database().sql;
const noLog: Log = { debug() {}, info() {}, warn() {}, error() {}, with: () => noLog };

interface Comment {
  readonly id: string;
  readonly url: string;
  readonly key: string;
}
interface Tracker {
  /** The comments in its list, oldest first. */
  listed: Comment[];
  /** Removed comments remain in its list. */
  readonly lags?: boolean;
}
const commentOf = (id: string, key: string): Comment => ({ id, url: `https://tracker.example/${id}`, key });

/** Checks the answer of a run once, and returns the check's requests to the tracker. */
async function check(tracker: Tracker, { key, living, stored }: { key: string; living?: Comment; stored?: Comment }) {
  const [execution, step] = [newId(), newId()];
  const subject = `alpha:octo/app#${execution}`;
  await sql()`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, subject, project, issue, content, state, agent_id)
    values (${execution}, 't', 'x', 'alpha', 'alpha', ${subject}, 'octo/app', '1', '', 'succeeded', 'pm_default')`;
  await sql()`
    insert into execution_steps (id, execution_id, seq, kind, state, name, key, input, output, agent_id)
    values (${step}, ${execution}, 1, 'post', 'succeeded', 'alpha', ${key}, '{"body":"Answer"}', ${JSON.stringify(stored ?? null)}::text::json, 'pm_default')`;
  if (living)
    await sql()`
      insert into living_comments (subject, agent, place, connection, comment_id, url, key, settled_by)
      values (${subject}, 'pm_default', 'public', 'environment', ${living.id}, ${living.url}, ${living.key}, ${execution})`;
  await sql()`insert into write_checks (step_id, due_at) values (${step}, now())`;

  const [removed, posted, warnings]: [string[], unknown[], string[]] = [[], [], []];
  const withKey = (call: { key: string }) => tracker.listed.filter((one) => one.key === call.key);
  const adapter = {
    find: async (_: unknown, call: { key: string }) => withKey(call)[0] ?? null,
    findAll: async (_: unknown, call: { key: string }) => withKey(call),
    retract: async (_: unknown, { id }: Comment) => {
      await currentFence()?.send(async () => new Response(null, { status: 204 }));
      removed.push(id);
      // Like a request, it is aborted, so that endless removals fail the test instead of hanging its process.
      await nextTurn();
      if (!tracker.lags) tracker.listed = tracker.listed.filter((one) => one.id !== id);
    },
    update: async () => {
      throw new PluginError("not_found", "no such comment");
    },
    deliver: async (post: unknown) => {
      posted.push(post);
      return commentOf("new", key);
    },
  };
  const connection = { id: "environment", source: { adapter }, settings: {} } as unknown as Connection;
  const checks = startWriteChecks({
    sql: sql(),
    log: noLog,
    tools: { get: () => undefined },
    connectionFor: async () => connection,
    warn: (message) => void warnings.push(message),
    leaseSeconds: 30,
  });
  const ended = async () => {
    const [row] = await sql()`select from write_checks where step_id = ${step} and attempts + looks = 1 and lease is null`;
    expect(row).toBeDefined();
  };
  await vi.waitFor(ended, { timeout: 30_000, interval: 20 });
  await checks.stop();
  const [shown] = await sql()`select comment_id from living_comments where subject = ${subject}`;
  const [{ result_url }] = await sql()<
    [{ result_url: string | null }]
  >`select result_url from task_executions where id = ${execution}`;
  return { removed, posted, warnings, shown: shown?.comment_id, result_url };
}

test.each(["1", "2"])(
  "of two answers in living comments the older remains, also where the execution stored comment %s",
  { tags: ["postgres"] },
  async (stored) => {
    const tracker = { listed: [commentOf("1", "k1"), commentOf("2", "k1")] };
    expect(await check(tracker, { key: "k1", living: commentOf(stored, "k1") })).toMatchObject({
      removed: ["2"],
      posted: [],
      warnings: [expect.stringContaining("the newer one was removed")],
      shown: "1",
      result_url: "https://tracker.example/1",
    });
  },
);

test("a platform that still lists a removed comment gets one removal per check", { tags: ["postgres"] }, async () => {
  const tracker = { listed: [commentOf("1", "k2"), commentOf("2", "k2")], lags: true };
  expect((await check(tracker, { key: "k2" })).removed).toEqual(["2"]);
});

test("an answer in a living comment that a person deleted is not posted again", { tags: ["postgres"] }, async () => {
  const seen = await check({ listed: [] }, { key: "k3", living: commentOf("1", "k3") });
  expect(seen).toMatchObject({ removed: [], posted: [], warnings: [], shown: null });
});

test("if the check before it failed after its removal, the next one stores the comment that remains", {
  tags: ["postgres"],
}, async () => {
  const seen = await check({ listed: [commentOf("1", "k4")] }, { key: "k4", stored: commentOf("2", "k4") });
  expect(seen).toMatchObject({ removed: [], posted: [], warnings: [], result_url: "https://tracker.example/1" });
});

test("an answer in a living comment that a later run has edited stays where it is stored", { tags: ["postgres"] }, async () => {
  const edited = commentOf("1", "key of a later run");
  const tracker = { listed: [edited, commentOf("2", "k5")] };
  const seen = await check(tracker, { key: "k5", living: edited, stored: edited });
  expect(seen).toMatchObject({ posted: [], shown: "1", result_url: null });
});
