import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freshDatabase } from "../harness/databases.ts";
import { type Built, buildPlugin } from "../harness/plugin-bundle.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { manifest, worker } from "../harness/worker-plugin.ts";

const limit = 120_000;

interface Plugin {
  readonly id: string;
  readonly version: string | null;
  readonly state: string;
  readonly code: string | null;
  readonly reason: string | null;
  readonly crashes: number;
  readonly waiting: { version: string; widens: string[] } | null;
  readonly settings: { name: string; set: boolean; secret: boolean }[];
}

let service: Service;
let builds: Record<"first" | "second" | "wider", Built>;
beforeAll(async () => {
  const [first, second, wider] = await Promise.all([
    buildPlugin(worker("1.0.0"), { id: "worker", ...manifest }),
    buildPlugin(worker("1.1.0"), { id: "worker", version: "1.1.0", ...manifest }),
    buildPlugin(worker("1.2.0"), {
      id: "worker",
      version: "1.2.0",
      ...manifest,
      needs: [...manifest.needs, "fetch"],
      permissions: { http: [{ host: "api.example.com", methods: ["GET"], why: "reads greetings" }] },
    }),
  ]);
  builds = { first, second, wider };
  service = await startService({ env: { ENCRYPTION_KEY: "11".repeat(32), WATCHDOG_ENABLED: "true" } });
}, limit);
afterAll(() => service?.close());

const get = async (id = "worker"): Promise<Plugin> => (await service.get<Plugin>(`/api/plugins/${id}`)).body;
const run = (tool: string, parameters: object = {}) =>
  service.post<{ result: { said: string }; error: string }>(`/api/tools/worker.${tool}/execute`, { parameters });
const serving = (version: string) =>
  eventually(async () => {
    const plugin = await get();
    expect(plugin).toMatchObject({ version, code: null });
    expect(["ready", "degraded"]).toContain(plugin.state);
    return plugin;
  });

describe("an installed plugin", () => {
  test("waits for approval, and does not run before", async () => {
    const { status, body } = await service.post<Plugin>("/api/plugins", builds.first.body);
    expect(status).toBe(201);
    expect(body).toMatchObject({ id: "worker", version: null, state: "installed" });
    expect(body.waiting).toEqual({
      version: "1.0.0",
      widens: ["capability: log", "capability: secret", "secret: token, readable by the plugin"],
      breaks: [],
    });
    expect((await run("greet")).status).toBe(404);
    expect((await service.post("/api/plugins/worker/enable")).status).toBe(409);
  });
  test(
    "approved, its tool is offered and called",
    async () => {
      const { status } = await service.post("/api/plugins/worker/approve", {});
      expect(status).toBe(200);
      await serving("1.0.0");
      const { body } = await run("greet", { text: "you" });
      expect(body.result).toEqual({ said: "hello you 1.0.0" });
      const { body: logged } = await service.get<{ lines: { message: string }[] }>("/api/plugins/worker/logs");
      expect(logged.lines.at(-1)).toMatchObject({ message: "greeting", fields: { text: "you" } });
    },
    limit,
  );
  test("the error names an invalid parameter", async () => {
    const { status, body } = await run("greet", { text: 7 });
    expect(status).toBe(400);
    expect(body.error).toContain("parameters.text");
  });
  test(
    "takes its settings, which are not shown again",
    async () => {
      const { body } = await service.put<Plugin>("/api/plugins/worker/settings", {
        settings: { greeting: "salve", token: "t0p-secret" },
      });
      expect(body.settings).toContainEqual(expect.objectContaining({ name: "token", secret: true, set: true }));
      expect(JSON.stringify(body)).not.toContain("t0p-secret");
      await serving("1.0.0");
      await eventually(async () => (await run("greet")).body.result?.said.includes("salve") || null);
      expect((await run("hidden")).body.result).toEqual({ said: "t0p-secret" });
      const unknown = await service.put<{ error: string }>("/api/plugins/worker/settings", { settings: { colour: "red" } });
      expect(unknown.status).toBe(400);
      expect(unknown.body.error).toContain("settings.colour");
    },
    limit,
  );
  test(
    "a version without new permissions replaces it; one with new permissions waits",
    async () => {
      expect((await service.post("/api/plugins", builds.second.body)).status).toBe(201);
      await serving("1.1.0");
      const { body } = await service.post<Plugin>("/api/plugins", builds.wider.body);
      expect(body.version).toBe("1.1.0");
      expect(body.waiting).toEqual({
        version: "1.2.0",
        widens: ["http: GET https://api.example.com (reads greetings)", "capability: fetch"],
        breaks: [],
      });
      expect((await run("greet")).body.result.said).toContain("1.1.0");
      await service.post("/api/plugins/worker/approve", {});
      await serving("1.2.0");
    },
    limit,
  );
  test(
    "rolls back to an older version",
    async () => {
      await service.post("/api/plugins/worker/approve", { version: "1.0.0" });
      await serving("1.0.0");
      expect((await run("greet")).body.result.said).toContain("1.0.0");
    },
    limit,
  );
  test("the same version with other bytes is refused", async () => {
    const other = await buildPlugin(`${worker("1.0.0")}\n// changed\nglobalThis.changed = 1;`, { id: "worker", ...manifest });
    const { status, body } = await service.post<{ error: string }>("/api/plugins", other.body);
    expect(status).toBe(409);
    expect(body.error).toContain("give the changed plugin a new version");
  });
  test("so are the same bytes with another manifest; an identical version is accepted", async () => {
    const wider = { ...builds.first.manifest, limits: { memory_mb: 128 }, title: "Other" };
    const { status, body } = await service.post<{ error: string }>("/api/plugins", { ...builds.first.body, manifest: wider });
    expect(status).toBe(409);
    expect(body.error).toBe(
      "worker 1.0.0 is already installed with a different manifest (limits, title); give the changed plugin a new version.",
    );
    expect((await service.post("/api/plugins", builds.first.body)).status).toBe(201);
    await serving("1.0.0");
  });
});

test(
  "a name conflict is reported, and so is a use case with an invalid answer",
  async () => {
    const twin = await buildPlugin(
      `import { definePlugin } from "@signalbox/sdk";
      import { z } from "zod";
      const demo = { about: "A.", setup: async () => ({}), teardown: async () => ({}) };
      export default definePlugin({ id: "twin", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
        setup: () => ({ useCases: { "module-update": demo, rubbish: demo } }) });`,
      {
        id: "twin",
        kinds: ["useCases"],
        contributes: { useCases: { "module-update": { about: "A." }, rubbish: { about: "A." } } },
      },
    );
    expect((await service.post("/api/plugins", twin.body)).status).toBe(201);
    expect((await service.post("/api/plugins/twin/approve", {})).status).toBe(200);
    await eventually(async () =>
      expect(await get("twin")).toMatchObject({
        state: "ready",
        code: "NAME_TAKEN",
        reason: "Disabled, because another plugin uses these names: useCases.module-update",
      }),
    );
    const setup = await service.post<{ error: string }>("/api/use-cases/rubbish/setup", {});
    expect([setup.status, setup.body.error]).toEqual([502, expect.stringContaining("useCases.rubbish.setup is not valid")]);
    expect((await service.del("/api/plugins/twin")).status).toBe(204);
  },
  limit,
);

describe("a plugin that crashes", () => {
  test(
    "fails its own calls at once, backs off, and is quarantined after the fifth crash",
    async () => {
      const crash = async () => {
        // Started immediately, so that the test does not wait like a plugin.
        await service.post("/api/plugins/worker/enable");
        await eventually(async () => (await run("greet")).status === 200 || null, { timeout: 30_000 });
        return run("crash");
      };
      const { status, body } = await crash();
      expect(status).toBe(502);
      expect(body.error).toContain("PLUGIN_CRASHED");
      for (let i = 0; i < 3; i++) await crash();
      // The pause before the next start doubles with each crash. This one, of eight seconds, is long enough on a busy machine, too.
      expect((await get()).state).toBe("backoff");
      expect((await service.get<{ status: string; plugins: unknown }>("/health")).body).toMatchObject({
        status: "ok",
        plugins: [{ id: "worker", state: "backoff" }],
      });
      await crash();
      const plugin = await eventually(async () => ((await get()).state === "quarantined" ? get() : null));
      expect(plugin.code).toBe("PLUGIN_CRASHED");
      await eventually(async () => {
        const { body: noticed } = await service.get<{ message: string }[]>("/api/watchdog?search=quarantined");
        return noticed[0]?.message === "a plugin was quarantined";
      });
    },
    limit,
  );
  test(
    "serves again once it is enabled, and stops when it is disabled or removed",
    async () => {
      expect((await service.post("/api/plugins/worker/enable")).status).toBe(200);
      await serving("1.0.0");
      expect((await service.post<Plugin>("/api/plugins/worker/disable")).body.state).toBe("approved");
      await eventually(async () => (await run("greet")).status === 404 || null);
      expect((await service.del("/api/plugins/worker")).status).toBe(204);
      expect((await service.get("/api/plugins/worker")).status).toBe(404);
    },
    limit,
  );
});

test("a plugin that needs a setting to start is configured first, then approved", { timeout: limit }, async () => {
  const source = worker("1.0.0", undefined, "keen").replace('.default("hello")', "");
  const config = { type: "object", properties: { greeting: { type: "string" } }, required: ["greeting"] };
  const built = await buildPlugin(source, { id: "keen", ...manifest, config });
  expect((await service.post("/api/plugins", built.body)).status).toBe(201);
  const early = await service.post<{ error: string }>("/api/plugins/keen/approve", {});
  expect([early.status, early.body.error]).toEqual([
    409,
    expect.stringContaining("does not start without the settings greeting"),
  ]);
  expect((await service.put("/api/plugins/keen/settings", { settings: { greeting: "salve" } })).status).toBe(200);
  expect(await service.post("/api/plugins/keen/approve", {})).toMatchObject({ status: 200, body: { version: "1.0.0" } });
});

test("what is approved at one replica serves at the other, from the database", {
  tags: ["postgres"],
  timeout: limit,
}, async () => {
  await using database = await freshDatabase("migrated");
  await using first = await startService({ databaseUrl: database.url });
  await using second = await startService({ databaseUrl: database.url });
  await first.post("/api/plugins", builds.first.body);
  expect((await first.post("/api/plugins/worker/approve", {})).status).toBe(200);
  const said = () => second.post<{ result: { said: string } }>("/api/tools/worker.greet/execute", { parameters: {} });
  const { body } = await eventually(async () => ((await said()).status === 200 ? said() : null), { timeout: 30_000 });
  expect(body.result.said).toContain("1.0.0");
  await first.post("/api/plugins/worker/disable");
  await eventually(async () => (await said()).status === 404 || null);
});
