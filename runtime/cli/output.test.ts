import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Operation } from "@signalbox/schema/operation";
import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { declaredOperations } from "../declared-operations.ts";
import { asJson, asTable, onOneLine } from "./output.ts";
import { run } from "./run.ts";

test("text of a plugin neither controls the terminal nor looks like another line", () => {
  const text = "a\nb\u001b[2J\u009b31m\u202edcba\u2028c";
  expect(onOneLine({ text })).toBe('{"text":"a\\nb\\u001b[2J\\u009b31m\\u202edcba\\u2028c"}');
  expect(JSON.parse(onOneLine({ text }))).toEqual({ text });
  expect(JSON.parse(asJson({ text }))).toEqual({ text });
  expect(asJson({ text })).not.toContain("\u009b");
});

test("nor does the content of its package, if it is refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-output-"));
  try {
    writeFileSync(join(folder, "package.json"), JSON.stringify({ signalbox: { manifest: "\u001b[2J\u009b31m" } }));
    const said: string[] = [];
    const terminal = {
      out: () => {},
      err: (text: string) => void said.push(text),
      read: async () => "",
      interactive: false,
      columns: 80,
    };
    expect(await run(["plugin", "install", folder], terminal)).toBe(1);
    expect(said.join("")).toMatch(/^BAD_MANIFEST: .*\n$/);
    expect(said.join("").replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("a table of a history begins with the id, the time and the outcome, shows reasons, and fits 80 columns", () => {
  const list = declaredOperations().find(({ op }) => op.id === "webhook-events.list")?.op as Operation;
  const row = {
    id: "01a2172f-394b-7000-9c32-fa68fb7a3bd1",
    source: "alpha",
    slug: "alpha",
    event_name: "issues",
    outcome: "discarded",
    reason: "No mapping names issues/labeled, and the wording of this reason is longer than a line.",
    received_at: "2026-11-26T09:28:20.123Z",
  };
  expect(asTable(list, [row], 80)).toBe(
    [
      "ID                                    RECEIVED_AT           OUTCOME    SOURCE",
      "01a2172f-394b-7000-9c32-fa68fb7a3bd1  2026-11-26T09:28:20Z  discarded  alpha",
      "    No mapping names issues/labeled, and the wording of this reason is longer",
      "    than a line.",
      "",
    ].join("\n"),
  );
});

test("a table of calls of tools shows whether each succeeded", () => {
  const list = declaredOperations().find(({ op }) => op.id === "tool-executions.list")?.op as Operation;
  const row = {
    id: "01a2172f-394b-7000-9c32-fa68fb7a3bd1",
    execution_id: "01a2172f-394b-7000-9c32-fa68fb7a3bd2",
    agent_id: "pm_default",
    tool: "alpha.get_issue",
    parameters: {},
    status: "failed",
    error: "alpha answered 403",
    prompt_tokens: 1,
    completion_tokens: 1,
    duration_ms: 1,
    created_at: "2026-11-26T09:28:20.123Z",
  };
  expect(asTable(list, [row], 80).split("\n")[0]).toBe(
    "ID                                    CREATED_AT            STATUS  AGENT_ID",
  );
});

test("a table of keys shows the projects to which a key is restricted", () => {
  const list = declaredOperations().find(({ op }) => op.id === "keys.list")?.op as Operation;
  const row = { id: 3, name: "bound", hint: "sbx_1234…", scopes: ["read"], agent_ids: null, projects: [1, 2], expires_at: null };
  expect(asTable(list, [row], 80)).toBe("ID  NAME   HINT       SCOPES  PROJECTS\n3   bound  sbx_1234…  read    1,2\n");
});

describe("no answer of a service controls the terminal", () => {
  // OSC 8 (a link with another target), CR, C1, NUL, bidirectional marks and a line separator.
  const evil = "a\u001b]8;;https://evil.example\u0007b\rc\u009b31m\u0000d\u202egnp.exe\u2066e\u2028f\u0085g";
  const execution = {
    id: evil,
    task_id: evil,
    state: "failed",
    subject: evil,
    source: evil,
    error: evil,
    waiting_for: evil,
    created_at: evil,
    started_at: evil,
    finished_at: evil,
    result_url: evil,
  };
  const plugin = {
    id: evil,
    version: evil,
    state: evil,
    code: evil,
    reason: evil,
    tier: evil,
    kinds: [evil],
    title: evil,
    memory_bytes: null,
    crashes: 1,
    settings: [{ name: evil, secret: true, required: true, set: false }],
    sources: [evil],
    needs: [evil],
    permissions: { http: [{ host: evil, methods: [evil], why: evil }], operations: [], open_routes: [] },
    denied: [evil],
    waiting: { version: evil, widens: [evil], breaks: [] },
    versions: [],
  };
  const check = { name: evil, state: "failed", since: evil, message: evil, next_try_at: evil };
  const event = { source: evil, reason: `signature ${evil}`, received_at: evil, event_name: evil, action: evil, actor: evil };
  const answers: Readonly<Record<string, unknown>> = {
    "/api/status": {
      state: evil,
      version: evil,
      checks: [check],
      queue: null,
      agents: [{ agent_id: evil, running: 1 }],
      paused: [{ scope: "all", id: evil, reason: evil, paused_at: evil }],
      replicas: [{ host: evil, role: evil, running: 1 }],
    },
    "/api/subjects": [{ source: "s", project: "p", issue: "1" }],
    "/api/subjects/s/p/1": {
      subject: evil,
      verdict: evil,
      deliveries: [{ event, verdict: evil, executions: [{ ...execution, verdict: evil }] }],
    },
    "/api/task-executions": [execution],
    "/api/usage": { groups: [{ month: evil, tokens: { total: 1 }, runs: 1 }], unpriced_tokens: 1 },
    "/api/webhook-events": [event],
    "/api/plugins": [plugin],
    "/api/plugins/p": plugin,
    "/api/plugins/p/logs": { lines: [{ time: evil, message: evil, fields: { [evil]: evil } }] },
    "/api/plugin-isolation": { required: true, layers: [{ layer: evil, active: false, reason: evil }] },
    "/health": { deferred_webhooks: [{ plugin: evil, slug: evil, count: 1, oldest_at: evil }] },
    "/api/tasks/triggers": [{ canonical_trigger: evil, task_id: evil }],
  };
  const url = "http://signalbox.test";
  const terminal = { read: async () => "", interactive: true, columns: 80 };
  const stream = `data: ${JSON.stringify({ execution_id: "x", execution })}\n\n`;
  const server = setupServer(
    http.get(`${url}/api/task-executions/:id/events`, () => {
      return new HttpResponse(stream, { headers: { "content-type": "text/event-stream" } });
    }),
    http.get(`${url}/api/agents/refused`, () => HttpResponse.json({ error: evil }, { status: 400 })),
    http.get(`${url}/api/agents/page`, () => new HttpResponse(evil, { status: 502 })),
    http.get(`${url}/*`, ({ request }) => HttpResponse.json(answers[new URL(request.url).pathname] ?? [])),
  );
  beforeAll(() => {
    server.listen({ onUnhandledRequest: "error" });
    vi.stubEnv("SIGNALBOX_URL", url);
  });
  afterEach(() => server.resetHandlers());
  afterAll(() => {
    vi.unstubAllEnvs();
    server.close();
  });

  test.each([
    "status",
    "status --json",
    "why 1",
    "why 1 --json",
    "runs",
    "runs --json",
    "cost",
    "tail x",
    "tail x --json",
    "doctor",
    "task-executions list --format table",
    "task-executions events 01a21547-5026-7002-9aac-84a305205dcf",
    "plugin list",
    "plugin info p",
    "plugin permissions p",
    "plugin logs p",
    "plugin doctor",
    "agents get refused",
    "agents get page",
  ])("signalbox %s", async (line) => {
    let said = "";
    const write = (text: string) => {
      said += text;
    };
    await run(line.split(" "), { ...terminal, out: write, err: write });
    // Tables truncate it.
    expect(said).toContain("evil.example");
    expect(said.replace(/[\n\t]/g, "")).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u);
  });

  test("JSON keeps the texts", async () => {
    let said = "";
    const out = (text: string) => {
      said += text;
    };
    await run(["runs", "--json"], { ...terminal, out, err: () => {} });
    expect(JSON.parse(said)).toEqual([execution]);
  });
});
