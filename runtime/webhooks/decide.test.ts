import { expect, test } from "vitest";
import { decisionOf } from "./decide.ts";
import type { IncomingEvent } from "./incoming-event.ts";

test("an event without tasks names the tasks that are missing, and the triggers to which none is mapped", () => {
  const missing: Readonly<Record<string, readonly string[]>> = { "crm.created": ["gone", "lost"] };
  const routing = { find: () => undefined, tasksOf: (trigger: string) => ({ tasks: [], missingTasks: missing[trigger] ?? [] }) };
  const deps = { routing, policies: {} } as unknown as Parameters<typeof decisionOf>[3];
  const of = (...triggers: string[]) =>
    decisionOf({ event: {}, source: "alpha", origin: { kind: "webhook" } } as IncomingEvent, null, triggers, deps);
  const lost = "the task lost, to which crm.created is mapped, does not exist";
  expect(of("crm.created", "crm.changed")).toMatchObject({
    outcome: "dispatched",
    allowed: [],
    reason: `the task gone, to which crm.created is mapped, does not exist; ${lost}; no task is mapped to the trigger crm.changed: map one with POST /api/tasks/triggers`,
  });
  expect(of("crm.changed").reason).toMatch(/^no task is mapped to the trigger crm\.changed: /);
  expect(of("crm.created").reason).toMatch(/does not exist$/);
});
