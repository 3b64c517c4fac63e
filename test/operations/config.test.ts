import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startModel } from "../../examples/demo/model.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { endSessions } from "../harness/database-faults.ts";
import { freshDatabase } from "../harness/databases.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { refusedStart } from "../harness/refused-start.ts";
import { startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { plainScript } from "../harness/world.ts";

test("a running service's folder is refused to another, and serves again after a kill -9 with all its data", {
  timeout: 120_000,
}, async () => {
  // A separate service, because this folder must outlive the first.
  await using service = await startService({ database: "embedded", seed: true });
  // A process in another container, for example, has a temporary folder of its own.
  const { code, logs } = await refusedStart({ DATA_DIR: join(service.folder, "data"), TMPDIR: service.folder });
  expect(code).toBe(1);
  expect(logs).toMatch(/DATA_DIR: .* is in use by another Signalbox process/);
  expect((await service.get("/health")).status).toBe(200);

  const receipt = await service.webhook(issueOpened(), { delivery: "kept" });
  expect(receipt.status).toBe(202);
  expect((await service.put("/api/agents/pm_default", { name: "Kept" })).status).toBe(200);
  const list = async (path: string) => (await service.get<unknown[]>(`${path}?limit=1000`)).body;
  const paths = ["/api/agents", "/api/tasks", "/api/tasks/triggers", "/api/tasks/sources"];
  const before = await Promise.all(paths.map(list));
  for (let kills = 0; kills < 2; kills++) {
    await service.kill();
    await service.restart();
  }
  expect(await Promise.all(paths.map(list))).toEqual(before);
  expect((await service.get<{ name: string }>("/api/agents/pm_default")).body.name).toBe("Kept");
  expect((await service.get<{ payload: unknown }>(`/api/webhook-events/${receipt.body.event_id}`)).body.payload).toMatchObject({
    action: "opened",
  });
  expect((await service.webhook(issueOpened(), { delivery: "kept" })).body).toEqual({
    event_id: receipt.body.event_id,
    status: "duplicate",
  });
});

test(".env is read, and the environment wins over it", { timeout: 120_000 }, async () => {
  await using service = await startService();
  await service.kill();
  writeFileSync(
    join(service.folder, ".env"),
    'ALPHA_WEBHOOK_SECRET="from the file"\nAPI_KEYS=key-from-the-file\n# a comment\nLLM_MODEL=\n',
  );
  await service.restart();
  expect((await service.get("/api/agents")).status).toBe(401);
  expect((await service.get("/api/agents", { headers: { authorization: "Bearer key-from-the-file" } })).status).toBe(200);
  expect((await service.webhook(issueOpened())).status).toBe(401);
  expect((await service.webhook(issueOpened(), { secret: "from the file" })).status).toBe(200);
  await service.restart({ API_KEYS: "from-the-environment" });
  expect((await service.get("/api/agents", { headers: { authorization: "Bearer key-from-the-file" } })).status).toBe(401);
});

test("without an LLM the service starts and says what to set; failed executions can be restarted then", {
  timeout: 120_000,
}, async () => {
  await using service = await startService({ seed: true });
  expect(service.logs()).toMatch(/no LLM is configured: set LLM_BASE_URL/);
  const { body } = await service.webhook(issueOpened());
  const failed = await waitForExecutions(service, { event_id: body.event_id, count: 2 });
  expect(failed).toMatchObject(Array(2).fill({ state: "failed", error: expect.stringContaining("LLM_BASE_URL") }));

  const model = await startModel({ script: plainScript });
  // Another embedder with another dimension: nothing is stored yet, so the change is allowed.
  await service.restart({ LLM_BASE_URL: model.url, EMBEDDING_DIMENSION: "256" });
  for (const { id } of failed) expect((await service.post(`/api/tasks/${id}/restart`)).status).toBe(200);
  const ended = await waitForExecutions(service, { event_id: body.event_id, count: 2 });
  await model.close();
  const doctor = run(runtimeUnderTest(), "runtime/cli/main.ts", {
    args: ["doctor"],
    cwd: service.folder,
    env: { SIGNALBOX_URL: service.url },
  });
  expect((await doctor.ended).code).toBe(1);
  expect(doctor.logs()).toContain(
    "alpha is not configured, so the answers of 2 runs in the last day were not posted. Set ALPHA_TOKEN, and restart the service.",
  );
  expect(ended).toMatchObject(
    Array(2).fill({ state: "succeeded", result: expect.stringMatching(/^Answer of /), result_url: null }),
  );
});

test("a short outage of PostgreSQL answers 503, then the service recovers", {
  timeout: 120_000,
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase("migrated");
  await using service = await startService({ databaseUrl: database.url, seed: true });
  await endSessions(database);
  const statuses = new Set<number>();
  for (let i = 0; i < 20; i++) statuses.add((await service.webhook(issueOpened({ number: i + 1 }))).status);
  for (const status of statuses) expect(status).toBeOneOf([202, 503]);
  expect((await service.webhook(issueOpened({ number: 99 }))).status).toBe(202);
  expect((await service.get("/health")).body).toMatchObject({ status: "ok" });
});

test("the configuration in effect names the source of each value and shows no secret", { timeout: 120_000 }, async () => {
  const hidden = ["hidden", "value", "of", "a", "test"].join("-");
  const apiKey = `key-${hidden}`;
  await using service = await startService({
    apiKey,
    env: {
      API_KEYS: apiKey,
      ALPHA_TOKEN: hidden,
      LLM_BASE_URL: `http://operator:${hidden}@127.0.0.1:9/v1`,
      LLM_MODEL: "small",
      TRACKER_UPDATES_ENABLED: "False",
      LOG_LEVEL: "DEBUG",
      PLUGIN_CLOCK__ZONE: hidden,
    },
  });
  interface Setting {
    readonly name: string;
    readonly value: string | null;
    readonly source: string;
  }
  const { status, body } = await service.get<{ settings: Setting[] }>("/api/configuration");
  expect(status).toBe(200);
  expect(JSON.stringify(body)).not.toContain(hidden);
  const of = (name: string) => body.settings.find((one) => one.name === name);
  expect(of("LLM_MODEL")).toMatchObject({ value: "small", default: "gpt-4o-mini", source: "environment", secret: false });
  expect(of("ALPHA_TOKEN")).toMatchObject({ value: "********", default: null, source: "environment", secret: true });
  expect(of("LLM_BASE_URL")?.value).toBe("http://********@127.0.0.1:9/v1");
  expect([of("TRACKER_UPDATES_ENABLED")?.value, of("LOG_LEVEL")?.value]).toEqual(["false", "debug"]);
  // The status sends a request to the model, and one for embeddings.
  expect((await service.get("/api/status")).status).toBe(200);
  for (const method of ["GET", "POST"])
    await eventually(() =>
      service.logs().includes(`"level":"debug","message":"request failed","method":"${method}","host":"127.0.0.1:9"`),
    );
  expect(service.logs()).not.toContain(hidden);
  expect(of("BUDGET_RUN_TOKENS")).toMatchObject({ value: "500000", source: "default", secret: false });
  expect(of("PLUGIN_CLOCK__ZONE")).toMatchObject({ value: "********", source: "environment", secret: true });
  await service.stop();
  writeFileSync(join(service.folder, ".env"), "RETENTION_EVENT_DAYS=30\nLLM_MODEL=large\n");
  await service.restart();
  const later = (await service.get<{ settings: Setting[] }>("/api/configuration")).body.settings;
  expect(later.filter(({ name }) => /^(RETENTION_EVENT_DAYS|LLM_MODEL)$/.test(name))).toMatchObject([
    { name: "LLM_MODEL", value: "small", source: "environment" },
    { name: "RETENTION_EVENT_DAYS", value: "30", source: "file" },
  ]);
});
