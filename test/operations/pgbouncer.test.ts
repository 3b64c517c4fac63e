import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { startTracker, type Tracker } from "../../examples/demo/tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { freshDatabase } from "../harness/databases.ts";
import { knownAtOnce } from "../harness/known-at-once.ts";
import { listeningSessions, startPooler } from "../harness/pgbouncer.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { login, plainScript, surroundings, textsOf, token, webhookSecret } from "../harness/world.ts";

const repo = "octo/app";
const webhooks = 60;
const limit = 180_000;
let tracker: Tracker;
let model: Model;

beforeAll(async () => {
  tracker = await startTracker({ token, login, autoCreate: true });
  model = await startModel({ script: plainScript, delayMs: 20 });
});
afterAll(async () => void (await Promise.all([tracker.close(), model.close()])));

/** Two replicas behind a pooler, whose migrations connect to the database itself. */
async function replicasBehind(pooled: string, direct: string, more: Record<string, string> = {}): Promise<[Service, Service]> {
  const env = { ...surroundings(tracker, model), DIRECT_DATABASE_URL: direct, ...more };
  const options = { databaseUrl: pooled, webhookSecret, env };
  return Promise.all([startService({ ...options, seed: true }), startService(options)]);
}
const resolved = "/api/tasks/resolve?source=alpha&event=issues&action=opened";
const knowsTasks = async (service: Service) => (await service.get<{ tasks: unknown[] }>(resolved)).body.tasks.length === 2;

describe("PgBouncer in transaction mode", { tags: ["postgres", "pgbouncer"] }, () => {
  test("two replicas, one of them killed midway: every comment is posted, once", { timeout: limit }, async () => {
    await using database = await freshDatabase();
    await using pooler = await startPooler(database.url);
    const [first, second] = await replicasBehind(pooler.url, database.url);
    try {
      await eventually(() => knowsTasks(second));
      const send = async (number: number) => {
        const wanted = number % 2 ? first : second;
        const [payload, delivery] = [issueOpened({ repo, number }), { delivery: `d-${number}` }];
        const { status } = await wanted.webhook(payload, delivery).catch(() => second.webhook(payload, delivery));
        expect(status).toBeOneOf([200, 202]);
      };
      for (let number = 1; number <= webhooks; number += 6) {
        await Promise.all([0, 1, 2, 3, 4, 5].map((more) => send(number + more)));
        if (number === 25) await first.kill();
      }
      const total = async (query: string) =>
        Number((await second.get(`/api/task-executions?limit=1${query}`)).headers.get("x-total-count"));
      await eventually(async () => (await total("&state=succeeded")) === 2 * webhooks, { timeout: 90_000, interval: 250 });
      const texts = ["Answer of Technical discovery", "Answer of Triage: initial intent"];
      for (let number = 1; number <= webhooks; number++) expect(textsOf(tracker, repo, number)).toEqual(texts);
      expect(second.logs()).not.toContain('"level":"error"');
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
  });

  test("memories are found, and a run is cancelled by the other replica", { timeout: limit }, async () => {
    await using database = await freshDatabase("migrated");
    await using pooler = await startPooler(database.url);
    await using slow = await slowModel();
    const [first, second] = await replicasBehind(pooler.url, database.url, { LLM_BASE_URL: slow.url });
    try {
      const memory = { key: "deploy-day", scope: "organizational", content: "We deploy on Tuesdays, never on Fridays." };
      expect((await first.post("/api/memory", memory)).status).toBe(201);
      const search = { query: "When do we deploy?", mode: "hybrid" };
      expect((await second.post("/api/memory/search", search)).body).toMatchObject([{ key: "deploy-day" }]);
      await eventually(() => knowsTasks(second));
      await first.webhook(issueOpened({ repo, number: 900 }), { delivery: "d-900" });
      const states = async () => {
        const { body } = await second.get<{ id: string; state: string }[]>("/api/task-executions");
        return body.map(({ id, state }) => ({ id, state }));
      };
      await eventually(async () => (await states()).some(({ state }) => state === "running"));
      // The waiting one first, because it would begin when the other has ended.
      const all = (await states()).sort(({ state }) => (state === "running" ? 1 : -1));
      expect(all.length).toBe(2);
      for (const { id } of all) expect((await second.post(`/api/task-executions/${id}/cancel`)).status).toBe(200);
      await eventually(async () => (await states()).every(({ state }) => state === "cancelled"));
    } finally {
      // A stop would wait for the model.
      await Promise.all([first.kill(), second.kill()]);
      await Promise.all([first.close(), second.close()]);
    }
  });

  const remedy = "set DIRECT_DATABASE_URL to the URL of the database itself";

  test("without the URL of the database itself, the service logs which variable to set", { timeout: limit }, async () => {
    await using database = await freshDatabase();
    await using pooler = await startPooler(database.url);
    const service = await startService({ databaseUrl: pooler.url }).catch((error: Error) => error);
    const said = service instanceof Error ? service.message : service.logs();
    if (!(service instanceof Error)) await service.close();
    expect(said).toContain(remedy);
  });

  test.each([
    { mode: "transaction" as const, state: "degraded" },
    { mode: "session" as const, state: "ok" },
  ])(
    "without the URL of the database itself, the status of mode $mode is $state",
    { timeout: limit },
    async ({ mode, state }) => {
      await using database = await freshDatabase("migrated");
      await using pooler = await startPooler(database.url, mode);
      await using service = await startService({ databaseUrl: pooler.url });
      const { checks } = (await service.get<{ checks: { name: string; message: string }[] }>("/api/status")).body;
      const check = checks.find(({ name }) => name === "database");
      expect(check).toMatchObject({ state });
      expect(check?.message.includes(remedy)).toBe(mode === "transaction");
      expect(service.logs()).toContain(remedy);
    },
  );
});

describe.each([
  { bus: "polling", tags: ["postgres" as const] },
  { bus: "redis", tags: ["postgres" as const, "redis" as const] },
])("a PostgreSQL without LISTEN, replicas by $bus", ({ bus, tags }) => {
  test("a change at one replica is known to the other", { timeout: limit, tags }, async () => {
    await using database = await freshDatabase();
    const env = { REPLICA_BUS: bus, ...(bus === "redis" && { REDIS_URL: process.env.TEST_REDIS_URL as string }) };
    const options = { databaseUrl: database.url, env };
    const [first, second] = await Promise.all([startService({ ...options, seed: true }), startService(options)]);
    try {
      await eventually(() => knowsTasks(second));
      expect(await listeningSessions(database)).toBe(0);
      const change = async (round: number) => {
        const action = `pinned_${round}`;
        const mapping = { source: "alpha", event_name: "issues", action, canonical_trigger: "issue.pinned" };
        expect((await first.post("/api/tasks/sources", mapping)).status).toBe(201);
        return action;
      };
      const known = async (action: string) => JSON.stringify((await second.get(resolved.replace("opened", action))).body);
      if (bus === "redis") expect(await known(await knownAtOnce(change))).toContain("issue.pinned");
      else {
        const action = await change(0);
        await eventually(async () => (await known(action)).includes("issue.pinned"));
      }
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
  });
});

/** A model that answers after ten minutes. */
async function slowModel(): Promise<{ url: string; [Symbol.asyncDispose](): Promise<void> }> {
  const slow = await startModel({ script: plainScript, delayMs: 600_000 });
  return { url: `${slow.url}`, [Symbol.asyncDispose]: () => slow.close() };
}
