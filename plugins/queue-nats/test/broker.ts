import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
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
  const folder = mkdtempSync(join(tmpdir(), "signalbox-nats-"));
  const file = join(folder, "nats.conf");
  const permit = (denied: string | null) => writeFileSync(file, settingsOf(folder, account, denied));
  permit(null);
  let server: Server | null = null;
  const start = async () => {
    server = await startServer(command, ["-c", file, "-a", "127.0.0.1", "-p", String(port)]);
  };
  const kill = async () => server?.kill();
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
    /** Refuses messages of a type that the account publishes from now on, for example `event.received`; `null`: none. */
    refuse: (type: string | null) => {
      permit(type === null ? null : `${published}.${type}`);
      server?.reload();
    },
    /** kill -9. */
    kill,
    /** Starts it again on its port, with what it kept. */
    start,
    close: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The server's configuration: who may connect, and the subject to which this account may not publish. */
function settingsOf(folder: string, account: Options["account"], denied: string | null): string {
  const permissions = denied === null ? {} : { permissions: { publish: { deny: [denied] } } };
  const users = account && [{ ...account, ...permissions }];
  return JSON.stringify({ jetstream: { store_dir: folder }, ...(users && { authorization: { users } }) });
}

interface Server {
  kill(): Promise<void>;
  /** Makes it read its configuration again. */
  reload(): void;
}

/** A server that is not ready after this is killed, milliseconds. */
const startMs = 60_000;

/** Starts the server and waits until it is ready. Throws the server's output if it exits first. */
async function startServer(command: string, args: readonly string[]): Promise<Server> {
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
  return { kill, reload: () => void server.kill("SIGHUP") };
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
