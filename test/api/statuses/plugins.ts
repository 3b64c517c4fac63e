import { type Built, buildPlugin, toolOf } from "../../harness/plugin-bundle.ts";
import { type Arrange, type Cases, unique } from "./cases.ts";
import type { World } from "./world.ts";

const code = (id: string, says: string) => `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  export default definePlugin({
    id: "${id}", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: ["secret"],
    setup: () => ({ tools: { say: tool({
      about: "Says it.", effect: "read", input: z.object({}), output: z.object({ said: z.string() }), run: () => ({ said: "${says}" }),
    }) } }),
  });`;
/** A source that cannot say whether a webhook is genuine. */
const doubter = `
  import { definePlugin, PluginError } from "@signalbox/sdk";
  import { z } from "zod";
  const nothing = async () => null;
  export default definePlugin({
    id: "doubter", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: [],
    setup: () => ({ sources: { doubter: {
      about: "Doubts.", connection: z.object({}), secrets: [], required: [], parse: nothing,
      verify: () => { throw new PluginError("unavailable", "the list of keys cannot be read"); },
      account: nothing, check: nothing, deliver: nothing, find: nothing,
    } } }),
  });`;
const doubts = { about: "Doubts.", connection: { type: "object", properties: {} }, secrets: [], required: [] };

/** A webhook whose plugin is not able to verify it. */
export const unverifiable: Arrange = async ({ make }) => {
  const { body } = await buildPlugin(doubter, {
    id: "doubter",
    kinds: ["sources"],
    contributes: { sources: { doubter: doubts } },
  });
  await make("plugins.install", { body });
  await make("plugins.approve", { params: { id: "doubter" }, body: {} });
  return { params: { slug: "doubter" }, body: "{}" };
};

const build = (id: string, says = "hello") =>
  buildPlugin(code(id, says), {
    id,
    needs: ["secret"],
    config: { type: "object", properties: {} },
    permissions: { http: [] },
    secrets: { token: { title: "Token" } },
    contributes: { tools: { say: toolOf("Says it.", {}) } },
  });

let built: Promise<Built> | undefined;
/** Installing the same again changes nothing, so one build serves all cases. */
const one = () => (built ??= build("worker"));
const id = { params: { id: "worker" } };
const settings = { settings: { token: "t0ken" } };

const installed: Arrange = async ({ make }) => {
  await make("plugins.install", { body: (await one()).body });
  return id;
};
const approved: Arrange = async (world) => {
  await world.make("plugins.approve", { ...(await installed(world)), body: {} });
  return id;
};
/** SIGNALBOX_PLUGINS names it, and only that may change it. */
const fromEnvironment = { params: { id: "clock" } };
const notApproved = async ({ make }: World) => {
  const name = unique("waits").replace("_", "-");
  await make("plugins.install", { body: (await build(name)).body });
  return { params: { id: name } };
};

export const plugins: Cases = {
  "plugins.install": {
    valid: async () => ({ body: (await one()).body }),
    409: async (world) => {
      await installed(world);
      return { body: (await build("worker", "something else")).body };
    },
  },
  "plugins.get": { valid: installed },
  "plugins.approve": {
    valid: async (world) => ({ ...(await installed(world)), body: {} }),
    409: () => ({ ...fromEnvironment, body: {} }),
  },
  "plugins.enable": { valid: approved, 409: notApproved },
  "plugins.disable": { valid: approved, 409: () => fromEnvironment },
  "plugins.configure": {
    valid: async (world) => ({ ...(await installed(world)), body: settings }),
    409: () => ({ ...fromEnvironment, body: settings }),
    503: async ({ make }) => {
      await make("plugins.install", { at: "bare", body: (await one()).body });
      return { ...id, at: "bare", body: settings };
    },
  },
  "plugins.narrow": {
    valid: async (world) => ({ ...(await installed(world)), body: { operations: [] } }),
    409: () => ({ ...fromEnvironment, body: { operations: [] } }),
  },
  "plugins.logs": { valid: installed },
  "plugins.remove": { valid: installed, 409: () => fromEnvironment },
};
