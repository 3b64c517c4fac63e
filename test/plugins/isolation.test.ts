import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPlugin, toolOf } from "../harness/plugin-bundle.ts";
import { type Service, startService } from "../harness/service.ts";

const limit = 120_000;
interface Isolation {
  readonly required: boolean;
  readonly layers: readonly { readonly layer: string; readonly active: boolean; readonly reason: string | null }[];
}

/** Fetches from the one host of its manifest, which is this machine. */
const code = `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  export default definePlugin({
    id: "reacher", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: ["fetch"], hosts: ["localhost:8443"],
    setup: ({ fetch }) => ({ tools: { reach: tool({
      about: "Reaches.", effect: "read", input: z.object({}), output: z.object({ status: z.number() }),
      run: async () => ({ status: (await fetch("https://localhost:8443/")).status }),
    }) } }),
  });`;

let service: Service;
let body: object;
beforeAll(async () => {
  const built = await buildPlugin(code, {
    id: "reacher",
    needs: ["fetch"],
    permissions: { http: [{ host: "localhost:8443", methods: ["GET"], why: "a test" }] },
    contributes: { tools: { reach: toolOf("Reaches.") } },
  });
  body = built.body;
  service = await startService();
}, limit);
afterAll(() => service?.close());

test(
  "a host of a manifest that is this machine is not reached, although the service has no API keys",
  async () => {
    expect((await service.post("/api/plugins", body)).status).toBe(201);
    expect((await service.post("/api/plugins/reacher/approve", {})).status).toBe(200);
    const { status, body: answer } = await service.post<{ error: string }>("/api/tools/reacher.reach/execute", {
      parameters: {},
    });
    expect(status).toBe(502);
    expect(answer.error).toMatch(/localhost.*is not a public address.*ALLOW_PRIVATE_ADDRESSES/);
  },
  limit,
);

test("the layers are listed, missing ones with the reason", async () => {
  const { body: isolation } = await service.get<Isolation>("/api/plugin-isolation");
  expect(isolation.required).toBe(false);
  const names = ["limits", "no_new_privileges", "own_user", "namespaces", "seccomp"];
  expect(isolation.layers.map(({ layer }) => layer)).toEqual(names);
  for (const { active, reason } of isolation.layers) expect(reason === null).toBe(active);
});

test(
  "PLUGIN_WALLS=require runs plugins with all layers or not at all",
  async () => {
    await service.restart({ PLUGIN_WALLS: "require" });
    const { body: isolation } = await service.get<Isolation>("/api/plugin-isolation");
    expect(isolation.required).toBe(true);
    const isRoot = process.getuid?.() === 0;
    const missing = isolation.layers.filter(({ layer, active }) => !active && (isRoot || layer !== "own_user"));
    const { status, body: answer } = await service.post<{ error: string }>("/api/plugins/reacher/approve", {});
    expect(status).toBe(missing.length === 0 ? 200 : 409);
    for (const { layer } of missing) expect(answer.error).toMatch(new RegExp(`NO_SANDBOX: PLUGIN_WALLS.*${layer}`));
  },
  limit,
);
