import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { expect, onTestFinished, test } from "vitest";
import { AgentGateway, MemoryScope } from "../../examples/agent-typescript/gen/gateway_pb.js";
import { duringMemoryCall } from "../harness/blocked-statements.ts";
import { freshDatabase } from "../harness/databases.ts";
import { type Service, type ServiceOptions, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const text = "The service is stopping; connect again.";

async function start(options: ServiceOptions = {}): Promise<Service> {
  const service = await startService(options);
  onTestFinished(() => service.close());
  return service;
}

/** A client that keeps its connection. */
class Client {
  readonly #socket: Socket;
  #received = "";

  constructor(service: Service) {
    this.#socket = connect(Number(new URL(service.url).port), "127.0.0.1");
    this.#socket
      .on("error", () => {})
      .on("data", (data) => {
        this.#received += data;
      });
    onTestFinished(() => void this.#socket.destroy());
  }

  begin(body: string): void {
    const head = "POST /webhook/alpha HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nx-alpha-event: ping";
    this.#socket.write(`${head}\r\ncontent-length: 2\r\n\r\n${body}`);
  }

  /** The head of the answer to a webhook; what has arrived of it if the connection is closed before. */
  async send(): Promise<string> {
    this.#received = "";
    this.begin("{}");
    await eventually(() => this.#received.includes("\r\n\r\n") || this.#socket.closed, { interval: 5 });
    return this.#received;
  }

  async whenClosed(): Promise<void> {
    if (!this.#socket.closed) await once(this.#socket, "close");
  }
}

test("a webhook on a kept connection to a service that begins to stop is answered, and the answer asks to close the connection", async () => {
  const service = await start();
  const clients = Array.from({ length: 8 }, () => new Client(service));
  for (const answer of await Promise.all(clients.map((one) => one.send())))
    expect(answer).toMatch(/\r\nconnection: keep-alive\r/i);
  // All connections stay open while this request is under way.
  clients.pop()?.begin("{");
  const ended = service.kill("SIGTERM");
  await eventually(() => /"message":"stopping"/.test(service.logs()), { interval: 5 });
  for (const answer of await Promise.all(clients.map((one) => one.send())))
    expect(answer).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r/is);
  await Promise.all(clients.map((one) => one.whenClosed()));
  expect(await ended).toEqual({ code: 0, signal: null });
});

test("a stop leaves connections open for a moment, because a webhook may be on its way", async () => {
  const service = await start();
  const client = new Client(service);
  const sentAt = performance.now();
  await client.send();
  const ended = service.kill("SIGTERM");
  await client.whenClosed();
  expect(performance.now() - sentAt).toBeGreaterThan(490);
  expect(await ended).toEqual({ code: 0, signal: null });
});

test("the answer to a request that arrived just before the signal asks to close the connection", async () => {
  const service = await start();
  const client = new Client(service);
  await client.send();
  service.kill("SIGSTOP");
  const answer = client.send();
  const ended = service.kill("SIGTERM");
  service.kill("SIGCONT");
  expect(await answer).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r/is);
  expect(await ended).toEqual({ code: 0, signal: null });
});

test("a stop tells the readers of events, and ends their streams", async () => {
  const service = await start();
  const stream = await fetch(`${service.url}/api/events`);
  const ended = service.kill("SIGTERM");
  expect(await stream.text()).toContain(`event: error\ndata: ${JSON.stringify({ error: text })}\n\n`);
  expect(await ended).toEqual({ code: 0, signal: null });
  expect(service.logs()).not.toContain("took too long");
});

test("over Connect on PORT, a stop ends the streams of agents and lets other calls finish", { tags: ["postgres"] }, async () => {
  await using database = await freshDatabase("migrated");
  const service = await start({ databaseUrl: database.url, seed: true });
  const transport = createConnectTransport({ baseUrl: service.url, httpVersion: "1.1" });
  const gateway = createClient(AgentGateway, transport);
  const { sessionId } = await gateway.registerAgent({ agentId: "pm_default" });
  const stream = gateway.receiveTasks({ sessionId, maxInFlight: 1 })[Symbol.asyncIterator]().next();
  const streamError = stream.then(() => null, ConnectError.from);
  const store = () => gateway.memoryStore({ sessionId, key: "k", content: "stored", scope: MemoryScope.AGENT });
  let ended: Promise<unknown> | undefined;
  const { answer } = await duringMemoryCall(database, store, async () => {
    ended = service.kill("SIGTERM");
    expect(await streamError).toMatchObject({ code: Code.Unavailable, rawMessage: text });
  });
  expect(await answer).toMatchObject({ content: "stored" });
  expect(await ended).toEqual({ code: 0, signal: null });
});
