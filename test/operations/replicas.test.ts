import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { wikiConfig } from "../harness/knowledge.ts";
import { knownAtOnce } from "../harness/known-at-once.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import type { Receipt } from "../harness/webhooks.ts";
import { login, plainScript, surroundings, textsOf, token, webhookSecret } from "../harness/world.ts";

const repo = "octo/app";
const webhooks = 500;

test("two replicas, one killed midway: every execution ends long before its lease, no comment is missing or posted twice", {
  timeout: 180_000,
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase();
  const tracker = await startTracker({ token, login, autoCreate: true });
  const model = await startModel({ script: plainScript, delayMs: 20 });
  // A lease longer than the test: the other replica sees that the session of the killed one has ended.
  const env = { ...surroundings(tracker, model), EXECUTION_LEASE_SECONDS: "600" };
  const options = { databaseUrl: database.url, webhookSecret, env };
  // Started together, so that they also take turns at the migrations.
  const replicas = await Promise.all([startService({ ...options, seed: true }), startService(options)]);
  const [first, second] = replicas;
  try {
    // The seeds were sent to the first replica; the second is notified of them.
    const resolved = "/api/tasks/resolve?source=alpha&event=issues&action=opened";
    await eventually(async () => (await second.get<{ tasks: unknown[] }>(resolved)).body.tasks.length === 2, { timeout: 30_000 });
    const numbers = Array.from({ length: webhooks }, (_, i) => i + 1);
    let answered = 0;
    const send = async () => {
      for (let number = numbers.pop(); number !== undefined; number = numbers.pop()) {
        const payload = issueOpened({ repo, number });
        const delivery = `d-${number}`;
        // Trackers repeat webhooks without a response; here they reach the remaining replica.
        const wanted = number % 2 ? first : second;
        const { status } = await wanted.webhook(payload, { delivery }).catch(() => second.webhook(payload, { delivery }));
        expect(status).toBeOneOf([200, 202]);
        answered++;
      }
    };
    const sending = Promise.all(Array.from({ length: 16 }, send));
    await eventually(() => answered >= webhooks / 2, { interval: 5, timeout: 60_000 });
    await first.kill();
    await sending;

    const total = async (query: string) =>
      Number((await second.get(`/api/task-executions?limit=1${query}`)).headers.get("x-total-count"));
    await eventually(async () => (await total("&state=succeeded")) === 2 * webhooks, { timeout: 90_000, interval: 250 });
    expect(await total("")).toBe(2 * webhooks);
    const wrong = Array.from({ length: webhooks }, (_, i) => textsOf(tracker, repo, i + 1)).filter(
      (texts) => JSON.stringify(texts) !== JSON.stringify(["Answer of Technical discovery", "Answer of Triage: initial intent"]),
    );
    expect(wrong).toEqual([]);
    const { body } = await second.get<{ attempts: number }[]>(`/api/task-executions?limit=${2 * webhooks}`);
    expect(body.filter(({ attempts }) => attempts > 1).length).toBeGreaterThan(0);
  } finally {
    await Promise.all([tracker.close(), model.close()]);
    await Promise.all(replicas.map((replica) => replica.close()));
  }
});

describe("two replicas", { tags: ["postgres"] }, () => {
  let model: Model;
  let first: Service;
  let second: Service;
  beforeAll(async () => {
    model = await startModel({ script: plainScript });
    const env = {
      LLM_BASE_URL: model.url,
      LOOP_MAX_HOPS: "0",
      ENCRYPTION_KEY: "a".repeat(64),
      ALPHA_TOKEN: "t",
      // Longer than a busy machine holds up the edits of one issue, which the test sends at the same time.
      UPDATE_DEBOUNCE_SECONDS: "6",
    };
    first = await startService({ database: "postgres", seed: true, env });
    second = await startService({ databaseUrl: String(first.databaseUrl), env });
  });
  afterAll(async () => {
    await model?.close();
    await second?.close();
    await first?.close();
  });

  test("a change at one replica applies at the other at once", { timeout: 120_000 }, async () => {
    for (const name of ["a", "b", "c", "d", "e", "f", "g", "h"]) {
      const action = await knownAtOnce(async (round) => {
        const action = `${name}${round}`;
        const mapping = { source: "alpha", event_name: "issues", action, canonical_trigger: `custom.${action}` };
        expect((await first.post("/api/tasks/sources", mapping)).status).toBe(201);
        return action;
      });
      const event = { ...issueOpened({ repo, number: 1 }), action };
      const { body } = await second.webhook(event);
      const credentials = (webhook_secret: string) => ({ credentials: { token: "t", webhook_secret } });
      const integration = { source: "alpha", name: "Theirs", ...credentials("old") };
      const { id } = (await knownAtOnce(() => first.post<{ id: string }>("/api/integrations", integration))).body;
      await knownAtOnce((round) => first.put(`/api/integrations/${id}`, credentials(`new-${round}`)));
      const forged = await second.webhook(event, { slug: id, secret: "old" });
      expect([body.canonical_trigger, forged.status]).toEqual([`custom.${action}`, 401]);
    }
  });

  test("two webhooks of one comment at two replicas are one event, and edits of one issue start one run with the newest", {
    timeout: 120_000,
  }, async () => {
    await first.post("/api/tasks/triggers/seed", { include: ["comments"] });
    const send = async (id: number) => {
      const time = "2026-01-06T11:30:00.000+0000";
      const author = { name: "ann", displayName: "Ann" };
      const comment = { id: String(id), author, updateAuthor: author, body: `Comment ${id}`, created: time, updated: time };
      const issue = { id: "10001", key: "APP-12", fields: { summary: "Crash", project: { key: "APP" } } };
      const update = {
        webhookEvent: "jira:issue_updated",
        issue_event_type_name: "issue_commented",
        user: author,
        issue,
        comment,
      };
      const answers = await Promise.all([
        first.post<Receipt>("/webhook/gamma", JSON.stringify(update)),
        second.post<Receipt>("/webhook/gamma", JSON.stringify({ webhookEvent: "comment_created", comment, issue })),
      ]);
      return answers.map(({ body }) => body.status).sort();
    };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send(n + 1)));
    expect(answers).toEqual(Array.from({ length: 20 }, () => ["accepted", "duplicate"]));
    const { headers } = await first.get("/api/task-executions?task_id=intent_interpretation&limit=1");
    expect(headers.get("x-total-count")).toBe("20");

    // A rule that edits an issue repeatedly. Each replica gets every other webhook, and not all arrive in order.
    const edits = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const fields = { summary: `Title ${n}`, project: { key: "APP" } };
        const changelog = { items: [{ field: "summary", fromString: `Title ${n - 1}`, toString: `Title ${n}` }] };
        const payload = { webhookEvent: "jira:issue_updated", timestamp: 1_767_600_000_000 + n, changelog };
        const replica = n % 2 ? first : second;
        const issue = { id: "10002", key: "APP-13", fields };
        return (await replica.post<Receipt>("/webhook/gamma", { ...payload, user: { name: "rule" }, issue })).body;
      }),
    );
    const subject = encodeURIComponent("gamma:APP#APP-13");
    const [run, ...others] = await eventually(
      async () => {
        const { body } = await second.get<{ id: string; event_id: string; state: string; attempts: number; reason: string }[]>(
          `/api/task-executions?subject=${subject}&limit=100`,
        );
        return body.some(({ attempts }) => attempts > 0) && body.sort((a, b) => b.attempts - a.attempts);
      },
      { timeout: 30_000 },
    );
    expect(run?.event_id).toBe(edits.at(-1)?.event_id);
    expect(others.map(({ state, reason }) => [state, /^superseded by event /.test(reason)])).toEqual(
      others.map(() => ["cancelled", true]),
    );
    const discarded = edits.filter(({ status }) => status === "discarded").length;
    expect(others.length + 1 + discarded).toBe(20);
    await eventually(() => {
      const read = model.chats().filter((request) => JSON.stringify(request).includes("APP#APP-13"));
      expect(read).toHaveLength(1);
      expect(JSON.stringify(read)).toContain("Title 19");
      return true;
    });
  });
});

test("a secret that was stored at one replica is redacted from what the other posts next", {
  timeout: 120_000,
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase("migrated");
  const tracker = await startTracker({ token, login, autoCreate: true });
  let told = "";
  const model = await startModel({ script: () => ({ content: `It is ${told}.` }) });
  const env = { ...surroundings(tracker, model), ENCRYPTION_KEY: "a".repeat(64) };
  const options = { databaseUrl: database.url, webhookSecret, env };
  const first = await startService({ ...options, seed: true, env: { ...env, SIGNALBOX_ROLE: "api" } });
  const second = await startService(options);
  const fresh = () => `k9${randomBytes(12).toString("hex")}`;
  let count = 0;
  const wiki = (api_token: string) => ({ type: "wiki", config: { ...wikiConfig({ url: "http://127.0.0.1:9" }), api_token } });
  const mapping = () => ({ source: "alpha", event_type: `star_${++count}`, canonical_trigger: "custom.star" });
  const store: ((secret: string) => Promise<{ status: number }>)[] = [
    (secret) => first.post("/api/knowledge-sources", { name: `Handbook ${++count}`, ...wiki(secret) }),
    (secret) => first.post("/api/integrations", { source: "alpha", name: "Other", credentials: { token: secret } }),
    (secret) => first.post("/api/webhook-mappings", { ...mapping(), auth: { method: "token", header: "X-Token", secret } }),
  ];
  try {
    for (const [at, keep] of store.entries()) {
      await knownAtOnce(async () => {
        told = fresh();
        expect((await keep(told)).status).toBeLessThan(300);
      });
      const { body } = await second.webhook(issueOpened({ repo, number: at + 1 }));
      await waitForExecutions(second, { event_id: body.event_id, count: 2, state: "succeeded" });
      expect(textsOf(tracker, repo, at + 1)).toEqual(["It is [redacted].", "It is [redacted]."]);
    }
  } finally {
    await Promise.all([tracker.close(), model.close()]);
    await Promise.all([first.close(), second.close()]);
  }
});

test("an api replica serves, a worker replica runs its executions and answers only /health", {
  timeout: 120_000,
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase("migrated");
  const model = await startModel({ script: plainScript });
  const start = (SIGNALBOX_ROLE: string, seed: boolean) =>
    startService({ databaseUrl: database.url, seed, env: { LLM_BASE_URL: model.url, SIGNALBOX_ROLE } });
  const api = await start("api", true);
  const workers = async () => {
    const { body } = await api.get<{ checks: { name: string; state: string; message: string }[] }>("/api/status");
    return body.checks.find(({ name }) => name === "workers");
  };
  expect(await eventually(async () => (await workers())?.state === "failed" && workers())).toMatchObject({
    message: expect.stringContaining("SIGNALBOX_ROLE=worker"),
  });
  const worker = await start("worker", false);
  try {
    await eventually(async () => (await workers())?.state === "ok");
    const { body } = await api.webhook(issueOpened({ repo, number: 1 }));
    const ended = await waitForExecutions(api, { event_id: body.event_id, count: 2, timeout: 30_000 });
    expect(ended.map(({ state }) => state)).toEqual(["succeeded", "succeeded"]);
    expect((await worker.get("/health")).status).toBe(200);
    for (const refused of [
      await worker.get<{ error: string }>("/api/agents"),
      await worker.webhook(issueOpened({ repo, number: 2 })),
      await worker.get<{ error: string }>("/docs"),
    ])
      expect([refused.status, refused.body]).toEqual([503, { error: expect.stringContaining("SIGNALBOX_ROLE") }]);
    expect((await api.get("/api/webhook-events?limit=1")).headers.get("x-total-count")).toBe("1");
  } finally {
    await Promise.all([api.close(), worker.close(), model.close()]);
  }
});
