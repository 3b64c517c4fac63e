import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsMsg, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, headers, type NatsConnection } from "@nats-io/transport-node";
import type { IncomingWebhook } from "@signalbox/sdk";
import { freePorts } from "@signalbox/sdk/testing";

const incoming = "WEBHOOKS";
const published = "signalbox";
const consumer = "signalbox";

/** Debian's folder for servers is not in the path of every account. */
const debians = "/usr/sbin/nats-server";

interface Options {
  /** Path of the program. Default: the one of the Debian package, otherwise the one in the PATH. */
  readonly command?: string;
  readonly port?: number;
  /** Who may connect. Default: everyone. */
  readonly account?: { readonly user: string; readonly password: string };
}

/** A nats-server with JetStream on loopback. Acknowledged messages survive `kill`. */
export async function startBroker({
  command = existsSync(debians) ? debians : "nats-server",
  port: given,
  account,
}: Options = {}) {
  const port = given ?? ((await freePorts(1))[0] as number);
  const login = account ? ["--user", account.user, "--pass", account.password] : [];
  const folder = mkdtempSync(join(tmpdir(), "signalbox-nats-"));
  let kill = async () => {};
  const start = async () => {
    kill = await startServer(command, ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", folder, ...login]);
  };
  const withConnection = async <T>(run: (nats: NatsConnection) => Promise<T>): Promise<T> => {
    const nats = await connect({ servers: `127.0.0.1:${port}`, ...(account && { user: account.user, pass: account.password }) });
    try {
      return await run(nats);
    } finally {
      await nats.close();
    }
  };
  await start();
  await withConnection(async (nats) => {
    const { streams } = await jetstreamManager(nats);
    await streams.add({ name: incoming, subjects: ["webhooks.>"] });
  });
  return {
    /** Settings of the plugin. */
    config: { servers: `nats://127.0.0.1:${port}`, incoming_stream: incoming },
    /** Publishes webhooks to the stream that the plugin reads; resolves once the broker has them. */
    send: (webhooks: readonly Omit<IncomingWebhook, "receipt">[]) =>
      withConnection(async (nats) => {
        const js = jetstream(nats);
        await Promise.all(
          webhooks.map(({ id, webhook, body, headers: webhookHeaders }) => {
            const all = headers();
            for (const [name, value] of Object.entries(webhookHeaders)) all.set(name, value);
            return js.publish(`webhooks.${webhook}`, body, { ...(id && { msgID: id }), headers: all });
          }),
        );
      }),
    /** Ids of the CloudEvents that the plugin published, in the order of the stream. */
    published: () => withConnection(readAll),
    /** Number of webhooks that are not acknowledged after the service has disconnected. */
    waiting: () =>
      withConnection(async (nats) => {
        const { consumers } = await jetstreamManager(nats);
        const { num_pending, num_ack_pending } = await consumers.info(incoming, consumer);
        return num_pending + num_ack_pending;
      }),
    /** kill -9. */
    kill: () => kill(),
    /** Starts it again on its port, with what it kept. */
    start,
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A server that is not ready after this is killed, milliseconds. */
const startMs = 60_000;

/**
 * Starts the server and waits until it is ready. Returns a function that kills it. Throws the server's output if it exits
 * first.
 */
async function startServer(command: string, args: readonly string[]): Promise<() => Promise<void>> {
  const server = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(server, "close");
  const signal = () => void server.kill("SIGKILL");
  const kill = async () => {
    process.off("exit", signal);
    signal();
    await ended;
  };
  process.once("exit", signal);
  let written = "";
  const timer = setTimeout(signal, startMs);
  await new Promise<void>((done, fail) => {
    server.once("error", (error) => fail(new Error(`${command} does not start (install nats-server): ${error.message}`)));
    server.once("close", () => fail(new Error(`${command} ended before it was ready:\n${written}`)));
    server.stderr.setEncoding("utf8").on("data", (text: string) => {
      written += text;
      if (/Server is ready/.test(written)) done();
    });
  }).finally(() => clearTimeout(timer));
  return kill;
}

async function readAll(nats: NatsConnection): Promise<string[]> {
  const { streams } = await jetstreamManager(nats);
  const info = await streams.info(published).catch(() => null);
  if (!info || info.state.messages === 0) return [];
  const reader = await jetstream(nats).consumers.get(published);
  const ids: string[] = [];
  for await (const message of await reader.fetch({ max_messages: info.state.messages, expires: 5_000 })) {
    ids.push((message as JsMsg).json<{ id: string }>().id);
  }
  return ids;
}
