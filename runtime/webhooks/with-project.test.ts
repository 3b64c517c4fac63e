import { afterAll, beforeAll, expect, test } from "vitest";
import type { Queryable } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { type Door, openDoor } from "../transports/http/testing/door.ts";
import type { IncomingEvent } from "./incoming-event.ts";
import type { Routing } from "./routing.ts";
import { withProject } from "./with-project.ts";

const issue = "0c6d9f12-52b5-4f0e-9d2f-000000000001";
const event = { event_name: "issue.commented", action: null, subject: { project: "-", issue }, text: "", actor: "ann" };
const incoming = {
  source: "delta",
  slug: "delta",
  event,
  origin: { kind: "webhook" },
  accounts: ["bot"],
} as unknown as IncomingEvent;
const routing = {
  find: (_: string, name: string) => (name === "issue.activity" ? undefined : { canonical_trigger: name }),
  tasksOf: (trigger: string) => ({ tasks: trigger === "issue.commented" ? [{}] : [], missingTasks: [] }),
} as unknown as Routing;

let door: Door;
beforeAll(async () => {
  door = await openDoor(() => []);
  await door.sql`
    insert into task_executions (id, task_id, canonical_trigger, source, slug, content, project, issue)
    values (${newId()}, 'triage', 'issue.created', 'delta', 'delta', '', 'known', ${issue})`;
}, 60_000);
afterAll(() => door?.close());

/** The project that an event gets, and the number of queries. */
async function resultOf(more: Partial<IncomingEvent["event"]>) {
  let queries = 0;
  const sql = ((parts: TemplateStringsArray, ...values: never[]) => {
    queries++;
    return door.sql(parts, ...values);
  }) as unknown as Queryable;
  const named = await withProject(sql, { ...incoming, event: { ...event, ...more } } as IncomingEvent, {
    routing,
    hasCommands: true,
  });
  return [named.event.subject?.project, queries];
}

test("only an event that may start tasks, close its issue or give a command is looked up", async () => {
  expect(await resultOf({})).toEqual(["known", 1]);
  expect(await resultOf({ event_name: "issue.updated" })).toEqual(["-", 0]);
  expect(await resultOf({ event_name: "issue.activity" })).toEqual(["-", 0]);
  expect(await resultOf({ event_name: "issue.activity", closes: true })).toEqual(["known", 1]);
  expect(await resultOf({ event_name: "issue.closed" })).toEqual(["known", 1]);
  expect(await resultOf({ event_name: "issue.activity", comment_text: "/stop" })).toEqual(["known", 1]);
  expect(await resultOf({ actor: "bot" })).toEqual(["-", 0]);
  expect(await resultOf({ subject: { project: "app", issue } })).toEqual(["app", 0]);
  expect(await resultOf({ subject: { project: "-", issue: issue.replace(/1$/, "2") } })).toEqual(["-", 1]);
});
