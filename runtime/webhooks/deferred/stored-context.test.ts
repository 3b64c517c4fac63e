import { expect, test } from "vitest";
import type { Origin } from "../received-webhook.ts";
import { readContext, writeContext } from "./stored-context.ts";

const origins: readonly Origin[] = [
  { kind: "webhook" },
  { kind: "message", messageId: "m-1" },
  { kind: "message", messageId: null },
  { kind: "poll" },
  { kind: "own" },
  { kind: "replay", replayOf: "e-1", options: { dry_run: true, agent_id: "a", task_id: "t", prompt: "p" } },
];

test.each(origins)("what is stored of $kind is read back", (origin) => {
  const context = { origin, proven: [1, 2], scopes: ["alpha x"] };
  expect(readContext(writeContext(context))).toEqual(context);
});

test.each([
  ["{}", { kind: "webhook" }],
  ['{"messageId":null}', { kind: "message", messageId: null }],
  ['{"polled":true,"proven":[],"scopes":[]}', { kind: "poll" }],
  ['{"replayOf":"e-1"}', { kind: "replay", replayOf: "e-1", options: { dry_run: false } }],
])("%s, as an earlier version stored it, is read", (stored, origin) => {
  expect(readContext(stored)).toEqual({ origin, proven: [], scopes: [] });
});
