import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import { PluginError } from "@signalbox/sdk";
import { cachedBundle } from "../../runtime/plugins/bundle-cache.ts";
import { createHostFetch } from "../../runtime/plugins/sandbox/host-fetch.ts";
import { openSandbox, type Sandbox } from "../../runtime/plugins/sandbox/open.ts";
import { createPlaceholders } from "../../runtime/plugins/sandbox/placeholders.ts";
import { serveCapabilities } from "../../runtime/plugins/sandbox/serve-capabilities.ts";
import { buildPlugin } from "../harness/plugin-bundle.ts";
import { type Cell, median, report } from "./report.ts";

const calls = 3_000;
const inFlight = 32;
const processes = 10;
const payload = { text: "x".repeat(2_000) };

const source = `
  import { definePlugin, tool } from "@signalbox/sdk";
  import { z } from "zod";
  const text = z.object({ text: z.string() });
  export default definePlugin({
    id: "bench", version: "1.0.0", sdk: "^0.1.0", config: z.object({}), needs: ["fetch"],
    setup: ({ fetch }) => ({ tools: {
      echo: tool({ about: "Echo.", effect: "read", input: text, output: text, run: (input) => input }),
      get: tool({ about: "Fetch.", effect: "read", input: text, output: text, run: async ({ text: url }) => ({ text: await (await fetch(url)).text() }) }),
    } }),
  });`;

type Run = (input: object) => Promise<unknown>;

/** A call of the same plugin in the host's process and in a separate process, and the cost of such a process. */
export async function run(): Promise<void> {
  const { bytes } = await buildPlugin(source, { id: "bench" });
  const { file } = cachedBundle(bytes);
  const server = createServer((_, answer) => answer.end("y".repeat(2_000)));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const host = `127.0.0.1:${(server.address() as { port: number }).port}`;
  const url = `http://${host}/`;
  const serve = serveCapabilities(
    "bench",
    { needs: ["fetch"], permissions: { http: [], operations: [] } },
    { fetch: fetchFor(host) },
  );
  const opened: Sandbox[] = [];
  const started: number[] = [];
  try {
    for (let i = 0; i < processes; i++) {
      const began = performance.now();
      opened.push(await openSandbox({ bundle: file, name: "bench", serve }));
      started.push(performance.now() - began);
    }
    const [sandbox] = opened as [Sandbox];
    const inside = await inProcess(file);
    const sandboxed =
      (name: string): Run =>
      (input) =>
        sandbox.call({ kind: "tools", name, method: "run" }, [input], { call: { key: "k", connection: {} } });
    const rows: Cell[][] = [
      await measure("echo 2 KB, in process", inside.echo, payload),
      await measure("echo 2 KB, sandboxed", sandboxed("echo"), payload),
      await measure("one fetch, in process", inside.get, { text: url }),
      await measure("one fetch by the host, sandboxed", sandboxed("get"), { text: url }),
    ];
    const megabytes = (values: readonly number[]) => Math.round(median(values) / 1024 / 1024);
    report({
      name: "plugins",
      about: `${calls} calls one after the other, then ${inFlight} at the same time; microseconds of a call`,
      columns: ["call", "p50 µs", "p99 µs", `calls/s, ${inFlight} at once`],
      rows,
      findings: [
        // The first start also determines the available isolation layers.
        `ready ${Math.round(median(started.slice(1)))} ms after the start (a bundle of ${Math.round(bytes.byteLength / 1024)} KB); the first ${Math.round(started[0] ?? 0)} ms`,
        `memory of one process of ${processes}: resident ${megabytes(opened.map((one) => one.memory() ?? 0))} MiB, its own share ${megabytes(opened.map(share))} MiB`,
      ],
    });
  } finally {
    await Promise.all(opened.map((one) => one.close()));
    server.close();
  }
}

const fetchFor = (host: string) =>
  createHostFetch(
    "bench",
    {
      permissions: [],
      guardedFetch: refuse,
      directFetch: (input, init) => fetch(input, init),
      operatorHosts: () => [host],
      userHosts: () => [],
    },
    createPlaceholders({}),
  );
const refuse = (): Promise<never> => Promise.reject(new PluginError("failed", "not in this benchmark"));

async function inProcess(file: string): Promise<{ echo: Run; get: Run }> {
  const { default: plugin } = await import(pathToFileURL(file).href);
  const { tools } = plugin.setup({ config: {}, fetch });
  const use = { key: "k", connection: {}, signal: new AbortController().signal };
  const call =
    (name: string): Run =>
    async (input) =>
      tools[name].output.parse(await tools[name].run(tools[name].input.parse(input), use));
  return { echo: call("echo"), get: call("get") };
}

async function measure(name: string, call: Run, input: object): Promise<Cell[]> {
  for (let i = 0; i < 300; i++) await call(input);
  const times: number[] = [];
  for (let i = 0; i < calls; i++) {
    const began = performance.now();
    await call(input);
    times.push((performance.now() - began) * 1000);
  }
  times.sort((a, b) => a - b);
  let left = calls;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: inFlight }, async () => {
      while (left-- > 0) await call(input);
    }),
  );
  return [name, median(times), times[Math.floor(times.length * 0.99)] ?? 0, calls / ((performance.now() - began) / 1000)];
}

/** Proportional set size: the size of shared pages is divided among their processes. */
function share({ pid }: Sandbox): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) * 1024;
  } catch {
    return 0;
  }
}
