import { expect, test } from "vitest";
import { quarantineAsBefore } from "../harness/database-faults.ts";
import { freshDatabase } from "../harness/databases.ts";
import { buildPlugin } from "../harness/plugin-bundle.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { ownRedis } from "../harness/redis.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const limit = 120_000;

const source = `
  import { definePlugin } from "@signalbox/sdk";
  import { z } from "zod";
  const nothing = async () => null;
  export default definePlugin({
    id: "tickets", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
    secrets: { relay_token: { title: "Token of the relay" } },
    setup: () => ({
      sources: { tickets: {
        about: "Tickets.", connection: z.object({ token: z.string() }), secrets: ["token"], required: ["token"],
        verify: () => ({ ok: true }), parse: nothing, account: nothing, check: nothing, deliver: nothing, find: nothing, poll: nothing,
      } },
      knowledge: { handbook: { about: "A handbook.", config: z.object({}), secrets: [], list: nothing, read: nothing } },
    }),
  });`;

const manifest = {
  id: "tickets",
  kinds: ["sources", "knowledge"],
  secrets: { relay_token: { title: "Token of the relay" } },
  contributes: {
    tools: {},
    sources: {
      tickets: {
        about: "Tickets.",
        connection: { type: "object", properties: { token: { type: "string" } } },
        secrets: ["token"],
        required: ["token"],
        has: ["poll"],
      },
    },
    knowledge: { handbook: { about: "A handbook.", config: { type: "object", properties: {} }, secrets: [] } },
  },
};

const doctorOf = async (service: Service, ...args: string[]): Promise<string> => {
  const env = { SIGNALBOX_URL: service.url };
  const one = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: [...args, "doctor"], env, cwd: service.folder });
  await one.ended;
  return one.logs();
};

test("plugin doctor: an account replaces the settings of its source, not the plugin's own credentials", {
  timeout: limit,
}, async () => {
  await using service = await startService({ env: { ENCRYPTION_KEY: "00".repeat(32) } });
  const { body } = await buildPlugin(source, manifest);
  expect((await service.post("/api/plugins", body)).status).toBe(201);
  expect((await service.post("/api/plugins/tickets/approve", {})).status).toBe(200);
  const doctor = async () => /tickets is missing the settings ([^:]*):/.exec(await doctorOf(service, "plugin"))?.[1];
  expect(await doctor()).toBe("relay_token, token");
  const integration = { source: "tickets", name: "Ours", credentials: { token: "t" } };
  expect((await service.post("/api/integrations", integration)).status).toBe(201);
  expect(await doctor()).toBe("relay_token");
});

test("doctor names the leftovers of a removed plugin, each with a remedy", { timeout: limit }, async () => {
  await using service = await startService({ env: { ENCRYPTION_KEY: "00".repeat(32) } });
  const { body } = await buildPlugin(source, manifest);
  const create = async (path: string, input: object) => {
    const answer = await service.post<{ id: number | string }>(path, input);
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body.id;
  };
  await create("/api/plugins", body);
  expect((await service.post("/api/plugins/tickets/approve", {})).status).toBe(200);
  const event = { source: "tickets", event_name: "ticket", action: "opened", canonical_trigger: "issue.created" };
  const mapping = await create("/api/tasks/sources", event);
  const account = await create("/api/integrations", { source: "tickets", name: "Ours", credentials: { token: "t" } });
  const project = { source: "tickets", project_id: "web", interval_minutes: 60, enabled: true };
  const poll = await create("/api/poll-sources", project);
  const knowledge = await create("/api/knowledge-sources", { name: "Pages", type: "handbook", config: {}, enabled: true });
  const lines = [
    `No plugin provides the source tickets, so these do nothing: the mapping of ticket/opened, the integration Ours. Install its plugin, or run: signalbox sources delete ${mapping}, signalbox integrations delete ${account}`,
    `poll:tickets web: no running plugin polls the source tickets. Install, enable or correct its plugin, or delete the poll source: signalbox poll-sources delete ${poll}`,
    `knowledge:Pages: no running plugin provides the connector handbook. Install, enable or correct its plugin, or delete the knowledge source: signalbox knowledge-sources delete ${knowledge}`,
  ];
  const before = await doctorOf(service);
  for (const line of lines) expect(before).not.toContain(line);
  expect((await service.post("/api/plugins/tickets/disable", {})).status).toBe(200);
  expect(await doctorOf(service)).toContain("The plugin tickets is disabled: signalbox plugin enable tickets");
  expect((await service.del("/api/plugins/tickets")).status).toBe(204);
  // The status repeats its checks every few seconds.
  await eventually(
    async () => {
      const after = await doctorOf(service);
      for (const line of lines) expect(after).toContain(`- ${line}`);
      return true;
    },
    { timeout: 60_000 },
  );
});

test("doctor works while a part of the service is down", { timeout: limit, tags: ["redis-server"] }, async () => {
  await using redis = await ownRedis();
  await using service = await startService({ env: { REDIS_URL: redis.url } });
  await redis.kill();
  await eventually(async () => {
    expect((await service.get("/health")).status).toBe(503);
    const text = await doctorOf(service);
    expect(text).toMatch(/- redis: /);
    expect(text).toContain("No tracker is connected.");
    return true;
  });
  expect(await doctorOf(service, "plugin")).toMatch(/^isolation: .*\n0 plugins, no problems\n$/);
  const health = run(runtimeUnderTest(), "runtime/cli/main.ts", {
    args: ["health", "get"],
    env: { SIGNALBOX_URL: service.url },
    cwd: service.folder,
  });
  expect((await health.ended).code).toBe(1);
  expect(JSON.parse(health.logs())).toMatchObject({ status: "degraded", down: ["redis"] });
});

test("doctor names a password that Redis refuses, once, and what to do", { timeout: limit, tags: ["redis-server"] }, async () => {
  await using redis = await ownRedis();
  await redis.send("CONFIG SET requirepass before");
  const url = redis.url.replace("//", "//:before@");
  await using service = await startService({ env: { REDIS_URL: url } });
  await redis.send("AUTH before\r\nCONFIG SET requirepass after\r\nCLIENT KILL TYPE normal");
  const host = new URL(url).host;
  const reason = "WRONGPASS invalid username-password pair or user is disabled";
  const remedy = "Correct the user name and the password in REDIS_URL, and then restart the service";
  const line = `- redis: ${host}: Redis is unavailable (${host}, ${reason}). ${remedy}\n`;
  await eventually(async () => expect(await doctorOf(service)).toContain(line) ?? true);
});

test("plugin doctor works where no plugin can start, and says why", { timeout: limit }, async () => {
  await using service = await startService({ env: { SIGNALBOX_DENO: "/no/deno" } });
  expect(await doctorOf(service, "plugin")).toBe(
    "isolation: none (SIGNALBOX_DENO: /no/deno does not exist. Set it to the path of a Deno binary.)\n0 plugins, no problems\n",
  );
});

test("a plugin that this machine cannot run waits, and starts without an operator once it can", { timeout: limit }, async () => {
  await using service = await startService({ env: { WATCHDOG_ENABLED: "true" } });
  const { body } = await buildPlugin(source, manifest);
  expect((await service.post("/api/plugins", body)).status).toBe(201);
  expect((await service.post("/api/plugins/tickets/approve", {})).status).toBe(200);
  const read = async () => (await service.get<{ state: string; code: string | null }>("/api/plugins/tickets")).body;
  await service.restart({ SIGNALBOX_DENO: "/no/deno" });
  await eventually(async () => expect(await read()).toMatchObject({ state: "backoff", code: "NO_SANDBOX" }) ?? true);
  expect(await doctorOf(service, "plugin")).toContain("tickets: NO_SANDBOX: SIGNALBOX_DENO: /no/deno does not exist.");
  const { body: reports } = await service.get<{ message: string }[]>("/api/watchdog?search=cannot%20run%20a%20plugin");
  expect(reports).toHaveLength(1);
  await service.restart();
  await eventually(async () => expect(await read()).toMatchObject({ state: "ready", code: null }) ?? true);
});

test("an upgrade ends the quarantines of an earlier version on a machine that could run no plugin", {
  timeout: limit,
  tags: ["postgres"],
}, async () => {
  await using database = await freshDatabase("migrated");
  await using service = await startService({ databaseUrl: database.url });
  const { body } = await buildPlugin(source, manifest);
  expect((await service.post("/api/plugins", body)).status).toBe(201);
  expect((await service.post("/api/plugins/tickets/approve", {})).status).toBe(200);
  await quarantineAsBefore(database);
  await service.restart();
  const read = async () => (await service.get<{ state: string; code: string | null }>("/api/plugins/tickets")).body;
  await eventually(async () => expect(await read()).toMatchObject({ state: "ready", code: null }) ?? true);
});
