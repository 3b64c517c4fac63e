import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../executions/commands.ts";
import { newId } from "../platform/ids.ts";
import { eraseData } from "../retention/erase-queries.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import { type Command, type CommandPlace, type Effect, stoppedById } from "./command.ts";
import { decideLate, stopByName } from "./late-command.ts";
import { claimPending, insertPending, type PendingCommand } from "./pending-queries.ts";
import { insertArrivals } from "./queries.ts";
import { openedEvent } from "./test-event.ts";

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
}, 60_000);
afterAll(() => door?.close());

const ann = { id: "7", name: "ann", kind: "human" as const, standing: "unknown" as const };
const found = { subject: { project: "APP", issue: "APP-1" }, standing: "member" as const };
const calls: { command: Command; place: CommandPlace }[] = [];
const effect: Effect = { summary: "done", cancelled: [], isDone: true, mayRepeat: false };
const carryOut = async (_: unknown, command: Command, place: CommandPlace) => {
  calls.push({ command, place });
  return effect;
};

/** Stores and claims a command on an issue that is named by an id. */
async function claimed(name: Command["name"], issue: string, first: Effect | null = null): Promise<PendingCommand> {
  const event = commandOn(issue, `/${name} waits for the key or project of its issue, which is being looked up`);
  await door.sql.begin(async (tx) => {
    await insertArrivals(tx, [{ event, project: "-", issue: "1", content: "", executions: [] }]);
    await insertPending(tx, event, { name, rest: "I am ill" }, first);
  });
  const pending = await claimPending(door.sql, event.id, 30);
  expect(pending).toMatchObject({ event_id: event.id, command: { name, rest: "I am ill" }, event: { author: ann } });
  return pending as PendingCommand;
}
const commandOn = (issue: string, reason: string) =>
  openedEvent({ subject: `alpha:-#${issue}`, actor: "ann", author: ann, comment: `on ${issue}`, outcome: "discarded", reason });
const reasonOf = async ({ event_id }: PendingCommand) =>
  (await door.sql<{ reason: string | null }[]>`select reason from webhook_events where id = ${event_id}`)[0]?.reason;

/** An execution on the issue APP-1 that was created, and ended, so many hours from now. */
async function execution(state: "queued" | "failed" | "held" | "waiting", hours: number): Promise<string> {
  const id = newId();
  await door.sql`
    with started as (
      insert into task_executions (id, task_id, source, slug, canonical_trigger, subject, content, state, created_at, finished_at)
      values (${id}, 'triage', 'alpha', 'alpha', 'issue.created', 'alpha:APP#APP-1', '', ${state}, now() + make_interval(hours => ${hours}),
        case when ${state === "failed"} then now() + make_interval(hours => ${hours}) end)
    )
    insert into execution_steps (id, execution_id, seq, kind, state, name, created_at)
    select gen_random_uuid(), ${id}, 0, 'post', 'proposed', 'alpha', now() + make_interval(hours => ${hours}) where ${state === "waiting"}`;
  return id;
}
const stateOf = async (id: string) =>
  (await door.sql<{ state: string }[]>`select state from task_executions where id = ${id}`)[0]?.state;

test("a command is decided once, with what was looked up", async () => {
  const pending = await claimed("reject", "1");
  expect(await decideLate(door.sql, pending, found, carryOut)).toEqual(effect);
  expect(calls.splice(0)).toMatchObject([
    { command: { name: "reject", rest: "I am ill" }, place: { by: "alpha:ann", subjects: ["alpha:APP#APP-1", "alpha:-#1"] } },
  ]);
  expect(await decideLate(door.sql, pending, found, carryOut)).toBeNull();
  expect(calls).toEqual([]);
  expect(await reasonOf(pending)).toBe("done");
});

test.each([
  ["stop", "queued", "cancelled"],
  ["retry", "failed", "queued"],
  ["continue", "held", "queued"],
  ["approve", "waiting", "queued"],
  ["reject", "waiting", "cancelled"],
] as const)("/%s concerns only what was there when it was written", async (name, state, changed) => {
  const older = await execution(state, -1);
  const newer = await execution(state, 1);
  const issue = newId();
  const effect = await decideLate(door.sql, await claimed(name, issue), found, runCommand);
  expect(effect).toMatchObject({ isDone: true });
  expect([await stateOf(older), await stateOf(newer)]).toEqual([changed, state]);
  await door.sql`delete from task_executions`;
});

test("a /stop that waited for the name of its issue leaves what began meanwhile", async () => {
  const first = { ...effect, summary: "/stop by alpha:ann: 0 executions cancelled" };
  const pending = await claimed("stop", "2", first);
  await door.sql`update webhook_events set reason = ${stoppedById(first).summary} where id = ${pending.event_id}`;
  const [older, newer] = [await execution("queued", -1), await execution("queued", 1)];
  expect(await stopByName(door.sql, { ...pending, first }, found.subject, runCommand)).toMatchObject({ cancelled: [older] });
  expect(await stateOf(newer)).toBe("queued");
  await door.sql`delete from task_executions`;
});

test("the commands on an issue are decided in the order of their events, those on another one meanwhile", async () => {
  const stop = await claimed("stop", "3");
  const retry = commandOn("3", "/retry waits");
  await door.sql.begin(async (tx) => {
    await insertArrivals(tx, [{ event: retry, project: "-", issue: "3", content: "", executions: [] }]);
    await insertPending(tx, retry, { name: "retry", rest: "" }, null);
  });
  expect(await claimPending(door.sql, newId(), 30)).toBeUndefined();
  await decideLate(door.sql, await claimed("retry", "4"), found, carryOut);
  await decideLate(door.sql, stop, found, carryOut);
  expect(calls.splice(0).map(({ command }) => command.name)).toEqual(["retry", "stop"]);
  expect(await claimPending(door.sql, newId(), 30)).toMatchObject({ event_id: retry.id });
});

test("the command of a person who is erased while it waits is removed", async () => {
  const retry = await claimed("retry", "5");
  await eraseData(door.sql, { subjects: null, actor: "ann", project_id: null, unparsed: [] });
  expect(await door.sql`select 1 from pending_commands`).toHaveLength(0);
  expect(await decideLate(door.sql, retry, found, carryOut)).toBeNull();
  expect(calls).toEqual([]);
  expect(await reasonOf(retry)).toBeNull();
});
