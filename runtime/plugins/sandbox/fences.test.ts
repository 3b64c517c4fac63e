import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPlugin } from "../../../test/harness/plugin-bundle.ts";
import { fencedFetch, runFenced, type WriteFence } from "../../platform/write-fence.ts";
import { cachedBundle } from "../bundle-cache.ts";
import { openSandbox, type Sandbox } from "./open.ts";

const writer = `
  import { definePlugin } from "@signalbox/sdk";
  import { z } from "zod";
  const tool = (run) => ({ about: "Writes.", effect: "write", input: z.object({ waitMs: z.number() }), output: z.unknown(), run });
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  export default definePlugin({
    id: "writer", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: ["fetch"],
    setup: ({ fetch }) => ({ tools: {
      write: tool(async ({ waitMs }, { key }) => {
        await wait(waitMs);
        return (await fetch("https://api.example.com/" + key, { method: "POST", body: "{}" })).status;
      }),
      past_the_boot: tool(async ({ waitMs }) => {
        const params = { url: "https://api.example.com/raw", method: "POST", headers: [], body: null, redirect: "follow" };
        Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify({ jsonrpc: "2.0", id: 9000, method: "fetch", params }) + "\\n"));
        await wait(waitMs);
      }),
    } }),
  });`;

let sandbox: Sandbox;
const sent: string[] = [];
const passed: string[] = [];
const hostFetch = fencedFetch((async (input: string | URL | Request) => {
  sent.push(String(input));
  return new Response("{}", { status: 201 });
}) as typeof globalThis.fetch);

beforeAll(async () => {
  const { bytes } = await buildPlugin(writer, { id: "writer" });
  sandbox = await openSandbox({
    bundle: cachedBundle(bytes).file,
    name: "writer",
    serve: async (_, params) => {
      const { url, method } = params as { url: string; method: string };
      const { status } = await hostFetch(url, { method });
      return { status, status_text: "", url, redirected: false, headers: [], body: null };
    },
  });
}, 60_000);
afterAll(() => sandbox?.close());

const call = (tool: string, key: string, waitMs: number) =>
  sandbox.call({ kind: "tools", name: tool, method: "run" }, [{ waitMs }], { call: { key, connection: {} } });
const fence = (name: string, closed = false): WriteFence => ({
  send: async (request) => {
    if (closed) throw new Error(`the lease of ${name} has ended`);
    passed.push(name);
    return request(new AbortController().signal);
  },
  untilClosed: () => {},
});

test("a write of a third-party plugin asks the fence of its own call, however the calls overlap", async () => {
  const ended = runFenced(fence("first", true), () => call("write", "first", 100));
  const held = runFenced(fence("second"), () => call("write", "second", 100));
  const free = call("write", "third", 100);
  await expect(ended).rejects.toThrow("the lease of first has ended");
  expect(await Promise.all([held, free])).toEqual([201, 201]);
  expect(sent.sort()).toEqual(["https://api.example.com/second", "https://api.example.com/third"]);
  expect(passed).toEqual(["second"]);
});

test("a request that names no call must pass the fences of all calls of its process", async () => {
  const held = runFenced(fence("held"), () => call("past_the_boot", "held", 200));
  const ended = runFenced(fence("ended", true), () => call("write", "ended", 200)).catch(() => {});
  await Promise.all([held, ended]);
  expect(sent).not.toContain("https://api.example.com/raw");
});
