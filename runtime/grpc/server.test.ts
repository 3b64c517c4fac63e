import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import http from "node:http";
import { type AddressInfo, connect as connectTcp } from "node:net";
import { createInterface } from "node:readline";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateProto } from "../generate/proto.ts";
import type { FieldNumbers } from "./field-numbers.ts";
import { project } from "./projection.ts";
import { grpcRoutes } from "./routes.ts";
import { connectHandler, startGrpc } from "./server.ts";
import { bindWidgets, operations } from "./testing/widgets.ts";
import { BadRequest, Health } from "./well-known.ts";

const numbers = JSON.parse(generateProto(operations, { messages: {}, enums: {} }).fieldNumbers) as FieldNumbers;
const services = project(operations, numbers).map(({ desc }) => desc);
// The descriptors are made at run time, so that there are no types of the messages to check against.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Loose = any;
const client = (transport: Transport, name = "WidgetService"): Loose =>
  createClient(services.find((service) => service.name === name) as DescService, transport) as Client<DescService>;
const grpc = (port: number) => createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}` });
const failure = async (call: Promise<unknown>): Promise<ConnectError> => {
  const error = await call.then(
    (answer) => new Error(`answered ${JSON.stringify(answer)}`),
    (reason: unknown) => reason,
  );
  if (error instanceof ConnectError) return error;
  throw error;
};
const collect = async (stream: AsyncIterable<Loose>) => {
  const all: Loose[] = [];
  for await (const message of stream) all.push(message);
  return all;
};
const until = async (holds: () => Promise<boolean>) => {
  const end = Date.now() + 5_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error("did not come true within 5 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

const quiet = { info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
const routes = () =>
  grpcRoutes(
    bindWidgets(),
    { sql: undefined as never, log: quiet, authenticate: async () => ({ kind: "anonymous", name: "anyone", scopes: ["read"] }) },
    numbers,
  );

const binary = (name: string) => new URL(`../../node_modules/.bin/${name}`, import.meta.url).pathname;
const serve = new URL("./testing/serve.ts", import.meta.url).pathname;
const runtimes: Record<string, [string, ...string[]]> = {
  node: [process.execPath, serve],
  deno: [binary("deno"), "run", "-A", serve],
};
/** As json_format of Python takes it, and as it comes back. */
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
  }, 30_000);
  afterAll(async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  });

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
    const before = await client(transport).listAbortedWidgets({});
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
    await until(async () => (await client(transport).listAbortedWidgets({})).count === before.count + 1n);
  });
  test("deadlines reach the handler, and hold also where it is deaf", async () => {
    const before = await client(transport).listAbortedWidgets({});
    for (const deaf of [false, true])
      expect((await failure(client(transport).waitWidget({ ms: 20_000, deaf }, { timeoutMs: 150 }))).code).toBe(
        Code.DeadlineExceeded,
      );
    await until(async () => (await client(transport).listAbortedWidgets({})).count === before.count + 2n);
  });
  test("a cancelled call is cancelled for the handler", async () => {
    const before = await client(transport).listAbortedWidgets({});
    const leaving = AbortSignal.timeout(100);
    expect((await failure(client(transport).waitWidget({ ms: 20_000 }, { signal: leaving }))).code).toBe(Code.Canceled);
    await until(async () => (await client(transport).listAbortedWidgets({})).count === before.count + 1n);
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
  test("Python's grpcio finds and calls everything through reflection", async (context) => {
    const python = "/usr/bin/python3";
    const missing = await new Promise<boolean>((resolve) =>
      execFile(existsSync(python) ? python : "python3", ["-c", "import grpc, google.protobuf"], (error) =>
        resolve(error !== null),
      ),
    );
    if (missing && process.env.REQUIRE_SERVICES !== "1") return context.skip("python3-grpcio is not installed");
    const script = new URL("./testing/client.py", import.meta.url).pathname;
    const running = execFile(existsSync(python) ? python : "python3", [script, String(port)], { maxBuffer: 1e8 });
    running.stdin?.end(JSON.stringify(widget));
    let output = "";
    running.stdout?.on("data", (data) => (output += data));
    await once(running, "close");
    expectPython(JSON.parse(output));
  }, 60_000);
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

describe("the server's life", () => {
  test("health follows readiness, and a stop", async () => {
    let ready = true;
    const server = await startGrpc({ routes: routes(), host: "127.0.0.1", port: 0, ready: () => ready, healthEveryMs: 20 });
    const health = createClient(Health, grpc(server.port)) as Loose;
    const watching = health.watch({ service: "signalbox.api.v1.WidgetService" })[Symbol.asyncIterator]();
    const status = async () => (await watching.next()).value?.status;
    expect(await status()).toBe(1);
    ready = false;
    expect([await status(), (await health.check({})).status]).toEqual([2, 2]);
    ready = true;
    expect(await status()).toBe(1);
    const closing = server.close(2_000);
    expect([await status(), (await watching.next()).done]).toEqual([2, true]);
    await closing;
  });
  test("close lets a running call finish, ends streams at once, and takes no more", async () => {
    const server = await startGrpc({ routes: routes(), host: "127.0.0.1", port: 0 });
    const widgets = client(grpc(server.port));
    const running = widgets.waitWidget({ ms: 400 });
    const stream = failure(collect(widgets.watchWidgets({})));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const began = Date.now();
    await server.close(5_000);
    expect(Date.now() - began).toBeLessThan(3_000);
    expect((await running).waited).toBe(true);
    expect((await stream).code).toBe(Code.Unavailable);
    expect((await failure(client(grpc(server.port)).listWidgets({}))).code).toBe(Code.Unavailable);
  });
  test("close does not wait longer than it may", async () => {
    const server = await startGrpc({ routes: routes(), host: "127.0.0.1", port: 0 });
    const running = failure(client(grpc(server.port)).waitWidget({ ms: 30_000, deaf: true }));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const began = Date.now();
    await server.close(200);
    expect(Date.now() - began).toBeLessThan(2_000);
    expect([Code.Unavailable, Code.Aborted, Code.Canceled, Code.Internal]).toContain((await running).code);
  });
  test("a connection that answers no pings is dropped", async () => {
    const server = await startGrpc({ routes: routes(), host: "127.0.0.1", port: 0, keepAliveMs: 100 });
    const socket = connectTcp(server.port, "127.0.0.1", () => {
      socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])); // an empty SETTINGS frame, and silence
    });
    socket.on("error", () => {}).resume();
    await once(socket, "close");
    await server.close(100);
  });
  test("a port that is taken is an error, not a silence", async () => {
    const server = await startGrpc({ routes: routes(), host: "127.0.0.1", port: 0 });
    await expect(startGrpc({ routes: routes(), host: "127.0.0.1", port: server.port })).rejects.toThrow("EADDRINUSE");
    await server.close(0);
  });
  test("the same services as Connect and gRPC-Web over HTTP/1.1, beside another application", async () => {
    const fallback = (_: unknown, response: http.ServerResponse) => void response.end("the other application");
    const server = http.createServer(connectHandler({ routes: routes(), fallback: fallback as never }));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const make of [createConnectTransport, createGrpcWebTransport]) {
      const widgets = client(make({ baseUrl, httpVersion: "1.1" }));
      expect((await widgets.listWidgets({ limit: 1 })).items).toHaveLength(1);
      expect(await collect(widgets.watchWidgets({ to: 3 }))).toHaveLength(3);
      expect((await failure(widgets.listWidgets({ limit: 0 }))).code).toBe(Code.InvalidArgument);
    }
    const json = await fetch(`${baseUrl}/signalbox.gateway.v1.AgentGateway/RegisterAgent`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ agent_id: "dev", secret: "s" }),
    });
    expect(await json.json()).toEqual({
      sessionId: "session of dev",
      trustLevel: "TRUST_LEVEL_TRUSTED",
      requestsPerMinute: "300",
    });
    expect(await (await fetch(`${baseUrl}/else`)).text()).toBe("the other application");
    server.closeAllConnections();
    server.close();
  });
});
