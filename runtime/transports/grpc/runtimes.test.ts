import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Code, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { client, collect, failure, grpc, type Loose, until } from "./testing/clients.ts";
import { BadRequest } from "./well-known.ts";

const binary = (name: string) => new URL(`../../../node_modules/.bin/${name}`, import.meta.url).pathname;
const serve = new URL("./testing/serve.ts", import.meta.url).pathname;
const runtimes: Record<string, [string, ...string[]]> = {
  node: [process.execPath, serve],
  deno: [binary("deno"), "run", "-A", serve],
};
/** As Python's json_format accepts it, and as it returns it. */
const widget = {
  id: "w",
  size: 5,
  serial: "9000000000",
  ratio: 0.5,
  on: true,
  color: "COLOR_LIGHT_BLUE",
  mood: "MOOD_SAD",
  note: "",
  made_at: "2026-01-31T09:30:00.000Z",
  kind: "widget",
  ref: "12",
  box: { width: 3, lid: { tight: true } },
  parts: [{ name: "p", kind: "KIND_SPARE_PART", weight: 0 }],
  colors: ["COLORS_RED"],
  labels: { a: "b" },
  by_name: { x: { name: "n", kind: "KIND_RAW" } },
  levels: { l: "LEVELS_HIGH" },
  payload: { a: [1, null, "x"] },
  extra: { e: true },
  matrix: [[1, 2], [3]],
  holes: ["a", null],
  inner: undefined as unknown,
  shape: { type: "circle", radius: 2 },
};
widget.inner = { ...widget, id: "inner" };

describe.each(Object.keys(runtimes))("on %s", (runtime) => {
  let child: ChildProcess;
  let port: number;
  let transport: Transport;
  beforeAll(async () => {
    const [command, ...args] = runtimes[runtime] as [string, ...string[]];
    child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
    const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), "line");
    port = Number(line);
    transport = grpc(port);
  }, 120_000);
  afterAll(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });

  const counts = () => client(transport).listAbortedWidgets({});

  test("unary calls by gRPC, gRPC-Web and Connect, binary and JSON", async () => {
    const options = { baseUrl: `http://127.0.0.1:${port}`, httpVersion: "2" as const };
    for (const one of [
      transport,
      createGrpcWebTransport(options),
      createConnectTransport(options),
      createConnectTransport({ ...options, useBinaryFormat: true }),
    ]) {
      const { items, total } = await client(one).listWidgets({ limit: 2 });
      expect([items.map(({ name }: Loose) => name), total]).toEqual([["part 0", "part 1"], 5_000_000_000n]);
    }
  });
  test("a server stream arrives whole, and ends when the client leaves it", async () => {
    expect((await collect(client(transport).watchWidgets({ to: 1_000 }))).map(({ n }) => n)).toEqual(
      Array.from({ length: 1_000 }, (_, i) => BigInt(i + 1)),
    );
    const before = await counts();
    const leaving = new AbortController();
    const left = await failure(
      collect(
        (async function* () {
          for await (const message of client(transport).watchWidgets({}, { signal: leaving.signal })) {
            if (message.n === 3n) leaving.abort();
            yield message;
          }
        })(),
      ),
    );
    expect(left.code).toBe(Code.Canceled);
    await until(async () => (await counts()).count === before.count + 1n);
  });
  test("deadlines reach the handler, and apply even if it ignores them", async () => {
    const before = await counts();
    for (const deaf of [false, true]) {
      const { begun } = await counts();
      const isBegun = async () => (await counts()).begun > begun;
      // On a busy machine, a call can reach a short deadline before its handler.
      for (let timeoutMs = 150; timeoutMs < 10_000 && !(await isBegun()); timeoutMs *= 4) {
        const call = client(transport).waitWidget({ ms: 60_000, deaf }, { timeoutMs });
        expect((await failure(call)).code).toBe(Code.DeadlineExceeded);
      }
      expect(await isBegun()).toBe(true);
    }
    await until(async () => {
      const { begun, count } = await counts();
      return count - before.count === begun - before.begun;
    });
  });
  test("a cancelled call is cancelled for the handler", async () => {
    const before = await counts();
    const leaving = new AbortController();
    const left = failure(client(transport).waitWidget({ ms: 60_000 }, { signal: leaving.signal }));
    await until(async () => (await counts()).begun > before.begun);
    leaving.abort();
    expect((await left).code).toBe(Code.Canceled);
    await until(async () => (await counts()).count === before.count + 1n);
  });
  test("problems keep code, text, field and retry-after; other errors say nothing", async () => {
    const limited = await failure(client(transport).failWidget({ how: "rate_limited" }));
    expect([limited.code, limited.rawMessage, limited.metadata.get("retry-after")]).toEqual([
      Code.ResourceExhausted,
      "It is rate_limited",
      "2",
    ]);
    const [detail] = limited.findDetails(BadRequest) as Loose[];
    expect(detail.fieldViolations).toMatchObject([{ field: "how", description: "It is rate_limited" }]);
    const invalid = await failure(client(transport).listWidgets({ limit: 0 }));
    expect([invalid.code, (invalid.findDetails(BadRequest)[0] as Loose).fieldViolations[0].field]).toEqual([
      Code.InvalidArgument,
      "limit",
    ]);
    const thrown = await failure(client(transport).failWidget({ how: "x" }));
    expect([thrown.code, thrown.rawMessage, thrown.details]).toEqual([Code.Internal, "Something went wrong on our side", []]);
  });
  test("Python's grpcio finds and calls everything through reflection", { timeout: 60_000, tags: ["python"] }, async () => {
    const script = new URL("./testing/client.py", import.meta.url).pathname;
    const running = execFile(inject("python"), [script, String(port)], { maxBuffer: 1e8 });
    running.stdin?.end(JSON.stringify(widget));
    let output = "";
    running.stdout?.on("data", (data) => (output += data));
    await once(running, "close");
    expectPython(JSON.parse(output));
  });
});

function expectPython(result: Loose) {
  expect(result).toMatchObject({
    files: ["api.proto", "google/protobuf/struct.proto"],
    alpha_files: ["gateway.proto"],
    echo: { widget: JSON.parse(JSON.stringify(widget)) },
    missing: {
      code: "INVALID_ARGUMENT",
      details: expect.stringContaining("widget.id"),
      status_details: expect.stringContaining("google.rpc.BadRequest"),
    },
    update: { seen: { id: "a", count: 0, any: null, note: null, tags: [] } },
    list: { items: [{ name: "part 0" }, { name: "part 1" }], total: "5000000000" },
    delete: {},
    stream_failed: { code: "ALREADY_EXISTS", details: "n: has met fail_at" },
    rate_limited: { code: "RESOURCE_EXHAUSTED", retry_after: "2" },
    thrown: { code: "INTERNAL", details: "Something went wrong on our side", status_details: "" },
    deadline: { code: "DEADLINE_EXCEEDED" },
    too_large: { code: "RESOURCE_EXHAUSTED" },
    unauthenticated: { code: "UNAUTHENTICATED" },
    register: { session_id: "session of dev", trust_level: "TRUST_LEVEL_TRUSTED", requests_per_minute: "300" },
    health: { status: "SERVING" },
    health_unknown: { code: "NOT_FOUND" },
  });
  expect(result.stream).toHaveLength(500);
  expect(result.stream[499]).toEqual({ n: "500" });
}
