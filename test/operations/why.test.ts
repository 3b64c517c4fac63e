import { createHmac } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueEdited, issueOpened } from "../harness/alpha-payloads.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { quarantinePlugins } from "../harness/quarantine.ts";
import { buildTickets } from "../harness/tickets-plugin.ts";
import { eventually, hourLasts } from "../harness/wait.ts";
import { login, startWorld, type World } from "../harness/world.ts";

/** One call answers each question of an operator, in words. */
let world: World;
const repo = "octo/app";
let number = 0;
const ticketSecret = ["shared", "with", "the", "sender"].join("-");

beforeAll(async () => {
  world = await startWorld({
    tasks: ["first"],
    env: { EXECUTION_RETRY_LIMIT: "0", UPDATE_DEBOUNCE_SECONDS: "0", PLUGIN_TICKETS__WEBHOOK_SECRET: ticketSecret },
  });
  const { service } = world;
  await hourLasts();
  const mapping = { source: "alpha", event_name: "issues", action: "locked", canonical_trigger: "issue.locked" };
  await service.post("/api/tasks/sources", mapping);
  const tight = { name: "Tight", source: "alpha", source_project_id: "octo/tight", policy: { issue_runs_per_hour: 1 } };
  await service.post("/api/projects", tight);
}, 120_000);
afterAll(() => world?.[Symbol.asyncDispose]());

/** Why nothing happened for an issue, by the one call that the page names for it. */
const why = async (issue: number, of = repo) =>
  (await world.service.get<{ verdict: string }>(`/api/subjects/alpha/${encodeURIComponent(of)}/${issue}`)).body.verdict;

const opened = (more: object = {}) => ({ ...issueOpened({ repo, number, sender: "mona" }), ...more });
const situations: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
  ["a wrong secret", () => world.service.webhook(opened(), { secret: "wrong" }), /latest refused delivery.*signature/i],
  [
    "our own account",
    () => world.service.webhook(issueOpened({ repo, number, sender: login })),
    /caused by signalbox-bot, the account/,
  ],
  [
    "an event without a mapping",
    () => world.service.webhook(opened({ action: "pinned" })),
    /no source event mapping for alpha issues\/pinned/,
  ],
  [
    "a trigger without a task",
    () => world.service.webhook(opened({ action: "locked" })),
    /started nothing: no task is mapped to the trigger issue\.locked: map one with POST \/api\/tasks\/triggers/,
  ],
  [
    "the tracker answers 403",
    async () => {
      world.tracker.fault({ method: "POST", path: "comments", status: 403, times: 0 });
      await world.service.webhook(opened());
    },
    /first: Failed after 1 attempt: .*403/,
  ],
  [
    "the tracker's rate limit",
    async () => {
      world.tracker.clearFaults();
      world.tracker.fault({ method: "POST", path: "comments", status: 429, headers: { "retry-after": "3600" }, times: 0 });
      await world.service.webhook(opened());
    },
    /first: Waiting for .*(?:429|rate limit)/,
  ],
  [
    "the model is down",
    async () => {
      world.model.fault({ path: "chat", status: 503, times: 0 });
      await world.service.webhook(opened());
    },
    /first: Waiting for the model/,
  ],
];

test("a budget", { timeout: 120_000 }, async () => {
  const payload = () => issueOpened({ repo: "octo/tight", number: 1, sender: "mona" });
  await world.service.webhook(payload());
  await world.service.webhook(payload());
  await eventually(async () => {
    expect(await why(1, "octo/tight")).toMatch(/first: Held, until .*: .*hour/i);
    return true;
  });
});

test("a payload is explained with the budgets and pauses that its tasks would meet", async () => {
  interface Explained {
    readonly outcome: string;
    readonly reason: string | null;
    readonly tasks: readonly { readonly starts: boolean; readonly checks: readonly { check: string; passes: boolean }[] }[];
  }
  const explain = async (of: string) =>
    (
      await world.service.post<Explained>("/api/tasks/resolve", {
        source: "alpha",
        headers: { "X-GitHub-Event": "issues" },
        payload: issueOpened({ repo: of, number: 1, sender: "mona" }),
      })
    ).body;
  expect(await explain("octo/tight")).toMatchObject({
    outcome: "dispatched",
    reason: expect.stringMatching(
      /1 run has begun on this issue in this hour, and the limit is 1 \(issue_runs_per_hour in the policy/,
    ),
    tasks: [{ starts: false }],
  });
  const free = await explain(repo);
  expect(free).toMatchObject({ outcome: "dispatched", reason: null, tasks: [{ starts: true }] });
  expect(free.tasks[0]?.checks.map(({ check, passes }) => [check, passes])).toEqual(
    expect.arrayContaining([
      ["loop", true],
      ["budget.issue_runs_per_hour", true],
      ["budget.issue_tokens_per_day", true],
    ]),
  );
  await world.service.post("/api/pause", { scope: "agent", id: "pm_default", reason: "Wrong answers" });
  expect(await explain(repo)).toMatchObject({
    outcome: "dispatched",
    reason: "agent pm_default is paused: Wrong answers",
    tasks: [{ starts: false }],
  });
  await world.service.post("/api/resume", { scope: "agent", id: "pm_default" });
});

test("the title of an issue is that of its newest event, and finds it", { timeout: 120_000 }, async () => {
  const { service } = world;
  const send = (title: string, minute: number) =>
    service.webhook(
      issueEdited({ repo: "octo/named", number: 1, title }, { issue: { updated_at: `2026-01-02T03:0${minute}:00Z` } }),
    );
  const titles = async () => {
    const { title } = (await service.get<{ title: string }>("/api/subjects/alpha/octo%2Fnamed/1")).body;
    const found = await service.get<{ subject: string; title: string; events: number }[]>("/api/subjects?q=cafe+named");
    const runs = await service.get<{ subject_title: string }[]>("/api/task-executions?subject=octo%2Fnamed%231&order=asc");
    return [title, ...found.body.map((one) => one.title), runs.body.map((one) => one.subject_title)];
  };
  const first = await send("The cafe\n is \u202eclosed", 1);
  expect(await titles()).toEqual(["The cafe is \u202eclosed", "The cafe is \u202eclosed", []]);
  await send("The cafe is open", 3);
  // A late webhook and a replay contain an older title.
  await send("The cafe burns", 2);
  await service.post(`/api/webhook-events/${first.body.event_id}/replay`, {});
  expect(await titles()).toEqual(["The cafe is open", "The cafe is open", []]);
  await service.post("/api/erase", { subject: "octo/named#1" });
  expect(await titles()).toEqual([null, []]);
});

test.each(situations)("%s", { timeout: 120_000 }, async (_, act, reason) => {
  number++;
  const issue = number;
  await act();
  await eventually(
    async () => {
      expect(await why(issue)).toMatch(reason);
      return true;
    },
    { timeout: 40_000, interval: 200 },
  );
});

test("the command line answers with the same reasons, in lines that fit", { timeout: 120_000 }, async () => {
  const { service } = world;
  const signalbox = async (...args: string[]) => {
    const child = run(runtimeUnderTest(), "runtime/cli/main.ts", {
      args,
      env: { SIGNALBOX_URL: service.url },
      cwd: service.folder,
    });
    await child.ended;
    return child.logs();
  };
  // The waiting execution of the last situation, between two of its probes.
  await eventually(
    async () => {
      expect(await signalbox("why", `${repo}#${number}`)).toMatch(
        /^alpha:octo\/app#\d+: Login fails\n\S+Z issues\/opened by mona: Fired issue.created and started 1 task\.\n {2}first: Waiting for the model,[\s\S]*\n {4}execution \S{36}\n$/,
      );
      return true;
    },
    { timeout: 40_000, interval: 200 },
  );
  // A number alone can mean several issues.
  for (const other of ["octo/one", "octo/two"])
    await service.webhook(issueOpened({ repo: other, number: 7_001, sender: "mona" }));
  expect(await signalbox("why", "7001")).toMatch(
    /Also found: alpha:octo\/one#7001\. This is alpha:octo\/two#7001, whose last event is the newest\.\n/,
  );
  // The delivery of the first one had a wrong secret.
  expect(await signalbox("why", `${repo}#1`)).toMatch(
    /Webhooks refused in the last day, possibly for this issue:[\s\S]*\n {2}1 × alpha: The webhook was refused: [\s\S]*signature/i,
  );
  expect(await signalbox("status")).toMatch(
    /\nFailed in the last hour: 1 × "alpha answered\s+403[\s\S]*most\s+recently\s+on\s+alpha:octo\/app#\d+\n[\s\S]*\nWebhooks refused in the last day: 1\s+×\s+alpha: The\s+webhook was refused: /,
  );
  const listed = await signalbox("runs", "--state", "failed", "--limit", "1");
  expect(listed).toMatch(
    /^CREATED_AT +STATE +TASK_ID +SUBJECT +ID\n\S+Z +failed +first +alpha:octo\/app#\d+ +\S{36}\n {4}alpha answered 403/,
  );
  for (const line of listed.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  const [failed] = (await service.get<{ id: string }[]>("/api/task-executions?state=failed")).body;
  expect(await signalbox("tail", failed?.id ?? "")).toMatch(
    /^\S+Z prompt succeeded\n[\s\S]*\n\S+Z post alpha failed: alpha answered 403[^\n]*\n[\s\S]*first: failed: alpha answered 403[^\n]*\n$/,
  );
});

test("a dry run", { timeout: 120_000 }, async () => {
  number++;
  const issue = number;
  world.tracker.clearFaults();
  world.model.clearFaults();
  const discarded = await world.service.webhook(opened({ action: "pinned" }));
  const replay = { dry_run: true, task_id: "first" };
  expect((await world.service.post(`/api/webhook-events/${discarded.body.event_id}/replay`, replay)).status).toBe(202);
  await eventually(async () => /first: Dry run: nothing was written/.test(await why(issue)), { timeout: 40_000 });
});

test("the plugin of the source does not run", { timeout: 240_000 }, async () => {
  const { service } = world;
  const { body: plugin } = await buildTickets("tickets", true);
  await service.post("/api/plugins", plugin);
  expect((await service.post("/api/plugins/tickets/approve", {})).status).toBe(200);
  await quarantinePlugins(service);
  const body = JSON.stringify({ number: 7, title: "Ticket 7" });
  const signature = createHmac("sha256", ticketSecret).update(body).digest("hex");
  const headers = { "content-type": "application/json", "ticket-delivery": "d-7", "ticket-signature": signature };
  expect((await fetch(`${service.url}/webhook/tickets`, { method: "POST", headers, body })).status).toBe(202);
  const { verdict } = (await service.get<{ verdict: string }>("/api/subjects/tickets/p/7")).body;
  expect(verdict).toMatch(
    /^No deliveries are stored for this issue\. 1 webhook of this source waits since .* plugin tickets is not running/,
  );
  // The plugins are checked every two seconds.
  await eventually(async () => {
    const { body: status } = await service.get<{ checks: { name: string; state: string; message: string }[] }>("/api/status");
    expect(status.checks.find(({ name }) => name === "plugin:tickets")).toMatchObject({ state: "failed" });
    return true;
  });
});
