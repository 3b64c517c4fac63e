import { expect, test } from "vitest";
import { buildPlugin } from "../harness/plugin-bundle.ts";
import { run, runtimeUnderTest } from "../harness/process.ts";
import { startService } from "../harness/service.ts";

const limit = 120_000;

const source = `
  import { definePlugin } from "@signalbox/sdk";
  import { z } from "zod";
  const nothing = async () => null;
  export default definePlugin({
    id: "tickets", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
    secrets: { relay_token: { title: "Token of the relay" } },
    setup: () => ({ sources: { tickets: {
      about: "Tickets.", connection: z.object({ token: z.string() }), secrets: ["token"], required: ["token"],
      verify: () => ({ ok: true }), parse: nothing, account: nothing, check: nothing, deliver: nothing, find: nothing,
    } } }),
  });`;

const manifest = {
  id: "tickets",
  kinds: ["sources"],
  secrets: { relay_token: { title: "Token of the relay" } },
  contributes: {
    tools: {},
    sources: {
      tickets: {
        about: "Tickets.",
        connection: { type: "object", properties: { token: { type: "string" } } },
        secrets: ["token"],
        required: ["token"],
      },
    },
  },
};

test("plugin doctor: an account replaces the settings of its source, not the plugin's own credentials", {
  timeout: limit,
}, async () => {
  await using service = await startService({ env: { ENCRYPTION_KEY: "00".repeat(32) } });
  const { body } = await buildPlugin(source, manifest);
  expect((await service.post("/api/plugins", body)).status).toBe(201);
  expect((await service.post("/api/plugins/tickets/approve", {})).status).toBe(200);
  const doctor = async () => {
    const env = { SIGNALBOX_URL: service.url };
    const one = run(runtimeUnderTest(), "runtime/cli/main.ts", { args: ["plugin", "doctor"], env, cwd: service.folder });
    await one.ended;
    return /tickets is missing the settings ([^:]*):/.exec(one.logs())?.[1];
  };
  expect(await doctor()).toBe("relay_token, token");
  const integration = { source: "tickets", name: "Ours", credentials: { token: "t" } };
  expect((await service.post("/api/integrations", integration)).status).toBe(201);
  expect(await doctor()).toBe("relay_token");
});
