import { afterAll, beforeAll, expect, test } from "vitest";
import { type Built, buildPlugin, toolOf } from "../harness/plugin-bundle.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const limit = 120_000;
const config = { type: "object", properties: { mode: { type: "string", default: "quiet" } } };

/** Says its version and its setting. `setUp`: what it does before it starts; `asks`: whether it asks for a host. */
const build = (version: string, { setUp = "", asks = false } = {}): Promise<Built> =>
  buildPlugin(
    `
    import { definePlugin, tool } from "@signalbox/sdk";
    import { z } from "zod";
    export default definePlugin({
      id: "teller", version: "${version}", sdk: "^0.1.0", needs: ${asks ? '["fetch"]' : "[]"}, ${asks ? 'hosts: ["api.example.com"],' : ""}
      config: z.object({ mode: z.string().default("quiet") }),
      setup: ({ config }) => {
        ${setUp}
        return { tools: { say: tool({
          about: "Says.", effect: "read", input: z.object({}), output: z.object({ said: z.string() }),
          run: () => ({ said: "${version} " + config.mode }),
        }) } };
      },
    });`,
    {
      id: "teller",
      version,
      config,
      contributes: { tools: { say: toolOf("Says.") } },
      needs: asks ? ["fetch"] : [],
      permissions: { http: asks ? [{ host: "api.example.com", methods: ["GET"], why: "a test" }] : [] },
    },
  );

let service: Service;
beforeAll(async () => {
  service = await startService({ env: { ENCRYPTION_KEY: "11".repeat(32) } });
  const first = await build("1.0.0", { setUp: 'if (config.mode === "loud") throw new Error("cannot be loud");' });
  for (const built of [first, await build("1.1.0")]) {
    expect((await service.post("/api/plugins", built.body)).status).toBe(201);
    expect((await service.post("/api/plugins/teller/approve", { version: built.manifest.version })).status).toBe(200);
  }
}, limit);
afterAll(() => service?.close());

interface Plugin {
  readonly version: string;
  readonly state: string;
  readonly waiting: { readonly version: string } | null;
  readonly versions: readonly { readonly version: string; readonly rolled_back_at: string | null }[];
}
const get = async () => (await service.get<Plugin>("/api/plugins/teller")).body;
const says = (text: string) =>
  eventually(async () => {
    const { body } = await service.post<{ result: { said: string } | null }>("/api/tools/teller.say/execute", { parameters: {} });
    return body.result?.said === text;
  });
const configure = (mode: string | null) =>
  service.put<{ error?: string }>("/api/plugins/teller/settings", { settings: { mode } });
const approve = (version: string) => service.post<{ error?: string }>("/api/plugins/teller/approve", { version });

test("a version that waits and does not start is not approved, and goes on waiting", { timeout: limit }, async () => {
  const broken = await build("2.0.0", { asks: true, setUp: 'throw new Error("no database here");' });
  expect((await service.post<Plugin>("/api/plugins", broken.body)).body.waiting?.version).toBe("2.0.0");
  const { status, body } = await approve("2.0.0");
  expect([status, body.error]).toEqual([409, expect.stringContaining("no database here")]);
  expect(await get()).toMatchObject({ version: "1.1.0", state: "ready", waiting: { version: "2.0.0" } });
  await says("1.1.0 quiet");
});

test("a rollback to a version that does not start with the settings of now is refused", { timeout: limit }, async () => {
  expect((await configure("loud")).status).toBe(200);
  await says("1.1.0 loud");
  const { status, body } = await approve("1.0.0");
  expect([status, body.error]).toEqual([409, expect.stringContaining("cannot be loud")]);
  const { version, state, versions } = await get();
  expect([version, state, versions.filter((one) => one.rolled_back_at !== null)]).toEqual(["1.1.0", "ready", []]);
  await says("1.1.0 loud");
  // With other settings it is possible, and the settings of the other version are then refused.
  expect((await configure(null)).status).toBe(200);
  expect((await approve("1.0.0")).status).toBe(200);
  await says("1.0.0 quiet");
  expect([(await configure("loud")).status, (await get()).state]).toEqual([400, "ready"]);
  await says("1.0.0 quiet");
});

test("settings of a disabled plugin are stored without running it; if it then does not start, others revive it", {
  timeout: limit,
}, async () => {
  expect((await service.post("/api/plugins/teller/disable")).status).toBe(200);
  expect((await configure("loud")).status).toBe(200);
  expect((await get()).state).toBe("approved");
  expect((await service.post("/api/plugins/teller/enable")).status).toBe(200);
  await eventually(async () => !["ready", "degraded", "starting", "enabled", "approved"].includes((await get()).state));
  expect((await configure("calm")).status).toBe(200);
  await says("1.0.0 calm");
});

test("what an upgrade that does not start has stored is nothing: after a restart, the old version serves", {
  timeout: limit,
}, async () => {
  const broken = await build("1.2.0", { setUp: "for (;;);" });
  const { status } = await service.post("/api/plugins", broken.body);
  expect(status).toBe(409);
  await service.restart();
  await says("1.0.0 calm");
  expect((await get()).versions.map(({ version }) => version)).not.toContain("1.2.0");
});
