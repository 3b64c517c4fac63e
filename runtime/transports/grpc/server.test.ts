import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import http from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { type AddressInfo, connect as connectTcp, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";
import { Code, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { shortestOf } from "../../../test/harness/wait.ts";
import { idleStall, maxStallMs, repeatedStallOf } from "../../platform/test-stall.ts";
import { grpcRoutes } from "./routes.ts";
import { connectHandler, startGrpc } from "./server.ts";
import { client, collect, failure, grpc, type Loose, numbers, until } from "./testing/clients.ts";
import { bindWidgets } from "./testing/widgets.ts";
import { Health } from "./well-known.ts";

const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {}, with: () => quiet };
const routesWith = (onBegin?: () => void) => async () =>
  grpcRoutes(
    bindWidgets(onBegin),
    { sql: undefined as never, log: quiet, authenticate: async () => ({ kind: "anonymous", name: "anyone", scopes: ["read"] }) },
    numbers,
  );
const routes = routesWith();

describe("the server's life", () => {
  test("health follows readiness, and a stop", async () => {
    let ready = true;
    const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0, ready: () => ready, healthEveryMs: 20 });
    const health = createClient(Health, grpc(server.port)) as Loose;
    const watching = health.watch({ service: "signalbox.api.v1.WidgetService" })[Symbol.asyncIterator]();
    const status = async () => (await watching.next()).value?.status;
    expect(await status()).toBe(1);
    ready = false;
    expect([await status(), (await health.check({})).status]).toEqual([2, 2]);
    ready = true;
    expect(await status()).toBe(1);
    const closing = server.close(60_000);
    expect([await status(), (await watching.next()).done]).toEqual([2, true]);
    await closing;
  });
  test("close lets a running call finish, ends streams at once, and takes no more", async () => {
    const close = async () => {
      const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0 });
      const widgets = client(grpc(server.port));
      const running = widgets.waitWidget({ ms: 400 });
      const stream = failure(collect(widgets.watchWidgets({})));
      await until(async () => (await widgets.listAbortedWidgets({})).begun === 2n);
      const began = Date.now();
      await server.close(60_000);
      const took = Date.now() - began;
      expect((await running).waited).toBe(true);
      expect((await stream).code).toBe(Code.Unavailable);
      expect((await failure(client(grpc(server.port)).listWidgets({}))).code).toBe(Code.Unavailable);
      return took;
    };
    expect(await shortestOf(close, 3_000)).toBeLessThan(3_000);
  });
  test("close ends at its time limit", async () => {
    const close = async () => {
      const { promise: isBegun, resolve } = Promise.withResolvers<void>();
      const server = await startGrpc({ routes: routesWith(resolve), log: quiet, host: "127.0.0.1", port: 0 });
      const running = failure(client(grpc(server.port)).waitWidget({ ms: 30_000, deaf: true }));
      await isBegun;
      const began = Date.now();
      await server.close(200);
      const took = Date.now() - began;
      expect([Code.Unavailable, Code.Aborted, Code.Canceled, Code.Internal]).toContain((await running).code);
      return took;
    };
    expect(await shortestOf(close, 2_000)).toBeLessThan(2_000);
  });
  test("a connection that answers no pings is dropped", async () => {
    const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0, keepAliveMs: 100 });
    const socket = connectTcp(server.port, "127.0.0.1", () => {
      socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
      socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])); // an empty SETTINGS frame, and silence
    });
    socket.on("error", () => {}).resume();
    await once(socket, "close");
    await server.close(100);
  });
  test("a connection without a call is closed after a while, one with a call is not", async () => {
    // Long enough for a busy machine to answer each ping.
    const limits = { keepAliveMs: 2_000, idleMs: 200 };
    const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0, healthEveryMs: 20, ...limits });
    const busy = connectHttp2(`http://127.0.0.1:${server.port}`).on("error", () => {});
    const call = busy.request({ ":method": "POST", ":path": "/grpc.health.v1.Health/Watch", "content-type": "application/grpc" });
    call.on("error", () => {}).resume();
    call.end(Buffer.alloc(5));
    const idle = connectHttp2(`http://127.0.0.1:${server.port}`).on("error", () => {});
    await once(idle, "close");
    expect(busy.closed).toBe(false);
    busy.destroy();
    await server.close(100);
  });
  test("where there are too many connections, the one that has been idle longest gives way", async () => {
    const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0, maxSessions: 2 });
    const open = async () => {
      const session = connectHttp2(`http://127.0.0.1:${server.port}`).on("error", () => {});
      await once(session, "remoteSettings");
      return session;
    };
    const [first, second] = [await open(), await open()];
    const third = await open();
    if (!first.closed) await once(first, "close");
    expect([second.closed, third.closed]).toEqual([false, false]);
    for (const session of [second, third]) session.destroy();
    await server.close(100);
  });
  test("a call whose message has not arrived does not keep its connection; one that is handled does", async () => {
    const { promise: isBegun, resolve } = Promise.withResolvers<void>();
    const server = await startGrpc({ routes: routesWith(resolve), log: quiet, host: "127.0.0.1", port: 0, maxSessions: 2 });
    const begin = (message: Buffer, isWhole: boolean) => {
      const session = connectHttp2(`http://127.0.0.1:${server.port}`).on("error", () => {});
      const path = "/signalbox.api.v1.WidgetService/WaitWidget";
      const call = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
      call
        .on("error", () => {})
        .resume()
        [isWhole ? "end" : "write"](message);
      return session;
    };
    // The first call of a server loads what handles it.
    await client(grpc(server.port)).listWidgets({});
    const handled = begin(Buffer.from([0, 0, 0, 0, 4, 8, 0xe0, 0xd4, 3]), true);
    await isBegun;
    const slow = begin(Buffer.from([0, 0, 0, 0, 9, 10]), false);
    // The server answers it after it has received the call.
    await once(slow, "connect");
    await new Promise<void>((done) => slow.ping(() => done()));
    const next = connectHttp2(`http://127.0.0.1:${server.port}`).on("error", () => {});
    await Promise.race([Promise.all([once(slow, "close"), once(next, "remoteSettings")]), once(next, "close")]);
    expect([handled.closed, next.closed]).toEqual([false, false]);
    for (const session of [handled, next]) session.destroy();
    await server.close(100);
  });
  test("a call whose answer is not read does not keep its connection", async () => {
    const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0, maxSessions: 1 });
    // Its window has no room for an answer.
    const deaf = connectHttp2(`http://127.0.0.1:${server.port}`, { settings: { initialWindowSize: 0 } }).on("error", () => {});
    const path = "/signalbox.api.v1.WidgetService/ListWidgets";
    const call = deaf.request({ ":method": "POST", ":path": path, "content-type": "application/json" }).on("error", () => {});
    call.end("{}");
    await once(call, "response");
    const next = connectHttp2(`http://127.0.0.1:${server.port}`).on("error", () => {});
    await Promise.race([Promise.all([once(deaf, "close"), once(next, "remoteSettings")]), once(next, "close")]);
    expect(next.closed).toBe(false);
    next.destroy();
    await server.close(100);
  });
  test("anyone may ask for reflection, but not with any number of streams", async () => {
    const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0 });
    const session = connectHttp2(`http://127.0.0.1:${server.port}`).on("error", () => {});
    const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    const statuses = Array.from({ length: 101 }, () => {
      const call = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
      call.on("error", () => {}).resume();
      call.write(Buffer.from([0, 0, 0, 0, 2, 0x3a, 0]));
      return once(call, "trailers").then(([trailers]) => Number(trailers["grpc-status"]));
    });
    expect(await Promise.race(statuses)).toBe(Code.ResourceExhausted);
    session.destroy();
    await server.close(100);
  });
  test("a port that is taken is an error", async () => {
    const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0 });
    await expect(startGrpc({ routes, log: quiet, host: "127.0.0.1", port: server.port })).rejects.toThrow("EADDRINUSE");
    await server.close(0);
  });
  test("the same services as Connect and gRPC-Web over HTTP/1.1, beside another application", async () => {
    const fallback = (_: unknown, response: http.ServerResponse) => void response.end("the other application");
    const server = http.createServer(connectHandler({ routes, log: quiet, fallback: fallback as never }));
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
    const dots = `${baseUrl}/${".".repeat(15_000)}`;
    const idle = await idleStall();
    expect(await repeatedStallOf(async () => (await fetch(dots)).text())).toBeLessThan(maxStallMs + idle);
    server.closeAllConnections();
    server.close();
  });
  test("TLS with a certificate; connections that send no request keep no one out", { tags: ["openssl"] }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "tls-"));
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
    await promisify(execFile)("openssl", [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "1",
      "-keyout",
      key,
      "-out",
      cert,
      ...subject,
    ]);
    const tls = { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
    await rm(folder, { recursive: true });
    const most = 2;
    const server = await startGrpc({ routes, log: quiet, host: "127.0.0.1", port: 0, tls, maxSessions: most });
    const baseUrl = `https://127.0.0.1:${server.port}`;
    const trusting = createGrpcTransport({ baseUrl, nodeOptions: { ca: tls.cert } });
    expect((await client(trusting).listWidgets({ limit: 1 })).items).toHaveLength(1);
    expect((await failure(client(createGrpcTransport({ baseUrl })).listWidgets({}))).message).toContain(
      "self-signed certificate",
    );
    const held: Socket[] = [];
    for (const connect of [connectTcp, (port: number) => connectTls({ port, host: "127.0.0.1", ca: tls.cert })]) {
      for (let i = 0; i < 3 * most; i++) {
        const socket = connect(server.port, "127.0.0.1").on("error", () => {});
        held.push(socket.resume());
        await once(socket, connect === connectTcp ? "connect" : "secureConnect");
        // HTTP/1.1, after the handshake.
        if (connect !== connectTcp) socket.write("POST /signalbox");
      }
      const next = createGrpcTransport({ baseUrl, nodeOptions: { ca: tls.cert } });
      expect((await client(next).listWidgets({ limit: 1 })).items).toHaveLength(1);
    }
    for (const socket of held) socket.destroy();
    await server.close(100);
  });
});
