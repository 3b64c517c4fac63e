import { expect, test } from "vitest";
import { type Status, statusLines } from "./status-lines.ts";

const at = "2026-01-31T09:30:00.123Z";
const check = (name: string, state: "ok" | "failed", message: string) => ({
  name,
  state,
  message,
  since: at,
  next_try_at: null,
  connection: null,
});
// Without the database there are no figures of the queue, and nothing more is asked.
const status: Status = {
  state: "degraded",
  checks: [
    check("database", "failed", "127.0.0.1: ECONNREFUSED"),
    check("model", "ok", "llm.example answers"),
    check("connection:alpha", "ok", "api.example answers; the previous webhook secret was last used at 2026-01-30T08:00:00.000Z"),
  ],
  queue: null,
  paused: [{ scope: "project", id: "7", reason: "noise", paused_by: "ann", paused_at: at }],
  replicas: [],
  agents: [],
  version: "1.2.3",
  timestamp: at,
};

test("failed checks show since when, and working connections when the previous secret was last used", async () => {
  expect(await statusLines(status)).toEqual([
    "Signalbox 1.2.3: degraded",
    "Queue: unknown",
    "Replicas: none",
    "Paused: project 7 since 2026-01-31T09:30:00Z: noise",
    "FAILED database since 2026-01-31T09:30:00Z: 127.0.0.1: ECONNREFUSED",
    "ok connection:alpha: api.example answers; the previous webhook secret was last used at 2026-01-30T08:00:00.000Z",
  ]);
});
