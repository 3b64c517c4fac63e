import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPlugin } from "../../../test/harness/plugin-bundle.ts";
import { cachedBundle } from "../bundle-cache.ts";
import { limits } from "./limits.ts";
import { openSandbox, type Sandbox } from "./open.ts";

const eager = `
  import { definePlugin } from "@signalbox/sdk";
  import { z } from "zod";
  const tool = (run) => ({ about: "Asks.", effect: "read", input: z.object({}), output: z.unknown(), run });
  export default definePlugin({
    id: "eager", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: ["secret", "fetch"],
    setup: ({ secret, fetch }) => ({
      sources: { eager: {
        about: "None.", connection: z.object({}), secrets: [], required: [],
        projectId: async (name) => "the id of " + name,
      } },
      tools: {
        many: tool(() => Promise.all(Array.from({ length: 200 }, (_, i) => secret("s" + i)))),
        given_up: tool(async () => {
          const asked = Array.from({ length: ${limits.requests} }, () => secret("s"));
          const stop = new AbortController();
          const waits = fetch("https://api.example.com/", { signal: stop.signal }).catch(({ name }) => name);
          stop.abort();
          const first = await waits;
          await Promise.all(asked);
          return [first, await secret("after")];
        }),
        past_the_boot: tool(() => {
          for (let id = 1000; id < 1200; id += 1)
            Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", id, method: "secret", params: { name: "raw" } }) + "\\n"));
        }),
      },
    }),
  });`;

let sandbox: Sandbox;
const asked = { now: 0, most: 0, methods: [] as string[] };
/** Requests are answered once as many as allowed have arrived, and those above the limit have had time to. */
const { promise: isFull, resolve: fill } = Promise.withResolvers<void>();
const call = (tool: string) =>
  sandbox.call({ kind: "tools", name: tool, method: "run" }, [{}], { call: { key: "k", connection: {} } });

beforeAll(async () => {
  const { bytes } = await buildPlugin(eager, { id: "eager" });
  sandbox = await openSandbox({
    bundle: cachedBundle(bytes).file,
    name: "eager",
    serve: async (method, params) => {
      asked.methods.push(method);
      asked.now += 1;
      asked.most = Math.max(asked.most, asked.now);
      if (asked.now >= limits.requests) void sleep(200).then(fill);
      await isFull;
      await sleep(20);
      asked.now -= 1;
      return (params as { name: string }).name;
    },
  });
}, 60_000);
afterAll(() => sandbox?.close());

test("calls above the limit wait, and all are answered", async () => {
  expect(await call("many")).toEqual(Array.from({ length: 200 }, (_, i) => `s${i}`));
  expect(asked.most).toBe(limits.requests);
});
test("a call that is aborted while it waits is never sent, and delays no other", async () => {
  expect(await call("given_up")).toEqual(["AbortError", "after"]);
  expect(asked.methods).not.toContain("fetch");
});
test("a plugin that bypasses its own queue has the same limit", async () => {
  const before = asked.methods.length;
  await call("past_the_boot");
  expect(asked.methods.length - before).toBeGreaterThan(0);
  expect(asked.most).toBe(limits.requests);
});
test("a source's own names of projects are asked for, as in process", async () => {
  const use = { connection: {}, key: "k", signal: AbortSignal.timeout(60_000) };
  expect(await sandbox.contributions.sources?.eager?.projectId?.("Payments", use)).toBe("the id of Payments");
});
