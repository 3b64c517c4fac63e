import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Status, statusLines } from "./status-lines.ts";

const url = "http://signalbox.test";
const server = setupServer();
beforeAll(() => {
  vi.stubEnv("SIGNALBOX_URL", url);
  server.listen({ onUnhandledRequest: "error" });
});
afterEach(() => server.resetHandlers());
afterAll(() => {
  server.close();
  vi.unstubAllEnvs();
});

const at = "2026-01-31T09:30:00.123Z";
const check = (name: string, state: "ok" | "failed", message: string, next_try_at: string | null = null) => ({
  name,
  state,
  message,
  since: at,
  next_try_at,
  connection: null,
});
// Without the database, there are no figures of the queue, and no further requests are sent.
const status: Status = {
  state: "degraded",
  checks: [
    check("database", "failed", "127.0.0.1: ECONNREFUSED", "2026-01-31T09:35:00.000Z"),
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
    "FAILED database since 2026-01-31T09:30:00Z: 127.0.0.1: ECONNREFUSED; next try at 2026-01-31T09:35:00Z",
    "ok connection:alpha: api.example answers; the previous webhook secret was last used at 2026-01-30T08:00:00.000Z",
  ]);
});

const queue = {
  queued: 0,
  running: 0,
  held: 0,
  waiting: 0,
  failed_last_hour: 250,
  oldest_queued_seconds: null,
  p50_wait_ms: null,
};
const details = async () => (await statusLines({ ...status, checks: [], paused: [], queue })).slice(4);
const hourBefore = "2026-01-31T08:30:00Z";
const lists = (failed: (request: Request) => Response, refused: () => Response) =>
  server.use(
    http.get(`${url}/api/task-executions`, ({ request }) => failed(request)),
    http.get(`${url}/api/webhook-events`, refused),
  );

test("counts say how many of the newest rows they are about, if there may be more", async () => {
  const finished_at = new Date().toISOString();
  const failed = Array.from({ length: 100 }, (_, n) => ({
    error: n < 60 ? "timeout" : "403",
    subject: "alpha:a/b#1",
    finished_at,
  }));
  const refused = Array.from({ length: 99 }, () => ({ source: "alpha", reason: "no signature", received_at: at }));
  lists(
    () => HttpResponse.json(failed),
    () => HttpResponse.json(refused),
  );
  expect(await details()).toEqual([
    'Failed in the last hour: 60 (of the latest 100) × "timeout", most recently on alpha:a/b#1',
    'Failed in the last hour: 40 (of the latest 100) × "403", most recently on alpha:a/b#1',
    `To list them: signalbox runs --state failed --finished-from ${hourBefore}. To restart them together: signalbox task-executions bulk --help`,
    "Webhooks refused in the last day: 99 × alpha: no signature, most recently at 2026-01-31T09:30:00Z",
    "To see what to do, run: signalbox doctor",
  ]);
});

test("the failures are those that finished within the hour before the status, also of older executions", async () => {
  const failed = Array.from({ length: 2 }, () => ({ error: "timeout", subject: "alpha:a/b#1", finished_at: at }));
  const asked: (string | null)[] = [];
  lists(
    ({ url: asks }) => {
      asked.push(new URL(asks).searchParams.get("finished_from"));
      return HttpResponse.json(failed);
    },
    () => HttpResponse.json([]),
  );
  expect((await details()).slice(0, 2)).toEqual([
    'Failed in the last hour: 2 × "timeout", most recently on alpha:a/b#1',
    expect.stringContaining(`signalbox runs --state failed --finished-from ${hourBefore}`),
  ]);
  expect(asked).toEqual([hourBefore]);
});

test("failures with one cause are one line, and failures that no line shows are counted", async () => {
  const finished_at = new Date().toISOString();
  const errorOf = (n: number) =>
    n < 8 ? `alpha answered 401 to POST /repos/a/b/issues/${n}/comments: no` : `The LLM answered ${n < 10 ? 404 : 300 + n}: no`;
  const failed = Array.from({ length: 14 }, (_, n) => ({ error: errorOf(n), subject: "alpha:a/b#1", finished_at }));
  lists(
    () => HttpResponse.json(failed),
    () => HttpResponse.json([]),
  );
  expect((await details()).slice(0, 4)).toEqual([
    'Failed in the last hour: 8 × "alpha answered 401 to POST /repos/a/b/issues/0/comments: no", most recently on alpha:a/b#1',
    'Failed in the last hour: 2 × "The LLM answered 404: no", most recently on alpha:a/b#1',
    'Failed in the last hour: 1 × "The LLM answered 310: no", most recently on alpha:a/b#1',
    "Failed in the last hour with other errors: 3",
  ]);
});

test("held and waiting executions say why, until when, and how to continue them", async () => {
  const reason = (used: number) => `${used} tokens were used today, and the limit is 200 (BUDGET_DAY_TOKENS in the settings)`;
  const held = [201, 202].map((used) => ({ held_reason: reason(used), held_until: "2026-02-01T00:00:00.000Z" }));
  const waiting = [{ held_reason: null, held_until: null, waiting_for: "the approval of 2 proposals" }];
  server.use(
    http.get(`${url}/api/task-executions`, ({ request }) =>
      HttpResponse.json(request.url.includes("state=held") ? held : waiting),
    ),
    http.get(`${url}/api/webhook-events`, () => HttpResponse.json([])),
  );
  const none = { ...queue, failed_last_hour: 0, held: 2, waiting: 1 };
  expect((await statusLines({ ...status, checks: [], paused: [], queue: none })).slice(4)).toEqual([
    `Held: 2 × "${reason(201)}", until 2026-02-01T00:00:00Z`,
    `To release them now: signalbox task-executions bulk --action release --filter '{"state": "held"}' shows how many match; repeat it with --confirm and the token that it prints`,
    'Waiting: 1 × "the approval of 2 proposals"',
    "To list them: signalbox runs --state waiting. To approve or reject one: signalbox task-executions approve --help",
  ]);
});

test("a list that the key may not read is left out, and one that cannot be read is named", async () => {
  lists(
    () => HttpResponse.json({ error: "The API key lacks the scope read" }, { status: 403 }),
    () => HttpResponse.json({ error: "The database does not answer" }, { status: 503 }),
  );
  expect(await details()).toEqual(["Failed to list the refused webhooks: The database does not answer"]);
});

test.each<[Status["state"], Status["checks"], string, string]>([
  ["stopped", [], "all", "stopped, because everything is paused"],
  ["degraded", [check("model", "ok", "llm.example answers")], "agent", "degraded, because part of it is paused"],
  ["degraded", [check("model", "failed", "llm.example: ECONNREFUSED")], "agent", "degraded"],
])("the state %s names the pause that causes it", async (state, checks, scope, text) => {
  const paused = [
    { scope, id: scope === "all" ? null : "pm_default", reason: "noise", paused_by: "ann", paused_at: at },
  ] as Status["paused"];
  const replicas = [
    { id: "a", host: "host-1", role: "all", running: 1, seen_at: at, silent_seconds: null, this: true },
    { id: "b", host: "host-2", role: "worker", running: 1, seen_at: at, silent_seconds: 45, this: false },
  ] as unknown as Status["replicas"];
  const [first, , third] = await statusLines({ ...status, state, checks, paused, replicas });
  expect(first).toBe(`Signalbox 1.2.3: ${text}`);
  expect(third).toBe("Replicas: host-1 (role all, 1 execution running), host-2 (role worker, silent for 45 s)");
});
