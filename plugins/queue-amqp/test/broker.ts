import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type AMQPChannel, AMQPClient } from "@cloudamqp/amqp-client";
import type { IncomingWebhook } from "@signalbox/sdk";
import { freePorts } from "@signalbox/sdk/testing";
import { type Environment, program, refuse, stopStream } from "./faults.ts";

const incoming = "webhooks";
const published = "signalbox.events";
const mark = "dev.signalbox.publisher.read";

/** A RabbitMQ without plugins on loopback. Acknowledged messages survive `kill`. `ports`: three free ones. */
export async function startBroker(options: { command?: string; ports?: readonly number[] } = {}) {
  const { command = program, ports = await freePorts(3) } = options;
  const [port = 0, , names = 0] = ports;
  const folder = mkdtempSync(join(tmpdir(), "signalbox-rabbitmq-"));
  const env = prepareFolder(folder, ports);
  let kill = async () => {};
  const withConnection = async <T>(run: (channel: AMQPChannel) => Promise<T>): Promise<T> => {
    const client = new AMQPClient(`amqp://127.0.0.1:${port}`);
    await client.connect();
    try {
      return await run(await client.channel());
    } finally {
      await client.close();
    }
  };
  /**
   * Starts it after a kill, until its queue and stream answer. RabbitMQ 3.10 declares its startup complete before it has started
   * the stream, and after a kill it sometimes leaves it down for good. Then this does what an operator would do: restart it.
   */
  const restart = async () => {
    for (let triesLeft = restarts; ; triesLeft -= 1) {
      kill = await startServer(command, env);
      const failure = await waitUntilAnswering(withConnection);
      if (failure === null) return;
      await kill();
      if (triesLeft === 0)
        throw new Error(`RabbitMQ does not answer for ${published} after ${restarts} more restarts: ${failure}`);
    }
  };
  kill = await startServer(command, env);
  await withConnection(async (channel) => {
    await channel.queueDeclare(incoming, { durable: true });
    // Declared here and not by the plugin: RabbitMQ 3.10 loses a stream if it is killed within a second of its declaration,
    // because it has not yet written its stream coordinator to its directory (names.dets). No restart brings the stream back.
    await channel.queueDeclare(published, { durable: true }, { "x-queue-type": "stream", "x-max-age": "7D" });
  });
  return {
    /** Settings of the plugin. */
    config: { url: `amqp://127.0.0.1:${port}/`, incoming_queue: incoming },
    /** Publishes webhooks to the queue that the plugin reads; resolves once the broker has them. */
    send: (webhooks: readonly Omit<IncomingWebhook, "receipt">[]) =>
      withConnection(async (channel) => {
        await channel.exchangeDeclare("webhooks", "topic", { durable: true });
        await channel.queueBind(incoming, "webhooks", "webhooks.#");
        await channel.confirmSelect();
        await Promise.all(
          webhooks.map(({ id, webhook, body, headers }) =>
            channel.basicPublish("webhooks", `webhooks.${webhook}`, body, {
              ...(id && { messageId: id }),
              headers,
              deliveryMode: 2,
            }),
          ),
        );
      }),
    /** Ids of the CloudEvents that the plugin published, in the order of the stream. */
    published: () => withConnection(readAll),
    /** Number of webhooks that are not acknowledged after the service has disconnected. */
    waiting: () => withConnection(async (channel) => (await channel.queueDeclare(incoming, { passive: true })).messageCount),
    /** kill -9. */
    kill: () => kill(),
    /**
     * Puts the stream into the state in which RabbitMQ can leave it after a kill (declared, but not started), and closes all
     * connections. Returns a function that starts it.
     */
    stopStream: () => stopStream(env, published),
    /** Refuses messages with a routing key from now on, for example `event.received`, and closes all connections; `null`: none. */
    refuse: (routingKey: string | null) => refuse(env, routingKey),
    /** Starts it again on its ports, with what it kept. */
    start: restart,
    close: async () => {
      await kill();
      // The name server that Erlang starts beside it.
      try {
        execFileSync("epmd", ["-port", String(names), "-kill"], { stdio: "ignore" });
      } catch {}
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Writes the configuration of a server to a folder, where it keeps everything. Returns its environment. */
function prepareFolder(folder: string, [port = 0, between = 0, names = 0]: readonly number[]): Environment {
  writeFileSync(join(folder, "enabled_plugins"), "[].");
  mkdirSync(join(folder, "plugins"));
  writeFileSync(join(folder, "environment"), "");
  return {
    HOME: folder,
    ERL_EPMD_PORT: String(names),
    ERL_EPMD_ADDRESS: "127.0.0.1",
    RABBITMQ_NODENAME: `test-${randomBytes(4).toString("hex")}@localhost`,
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_NODE_IP_ADDRESS: "127.0.0.1",
    RABBITMQ_DIST_PORT: String(between),
    RABBITMQ_MNESIA_BASE: join(folder, "data"),
    RABBITMQ_LOG_BASE: join(folder, "log"),
    RABBITMQ_LOGS: "-",
    RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "enabled_plugins"),
    // RabbitMQ reads all plugins of this folder at each start, which takes a third of the start's processor time.
    RABBITMQ_PLUGINS_DIR: join(folder, "plugins"),
    // One scheduler, which sleeps while it has nothing to do.
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "+S 1:1 +sbwt none",
    // Without a file: the schema that it would be compared with is in the folder of the plugins.
    RABBITMQ_CONFIG_FILE: join(folder, "none"),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, "advanced.config"),
    RABBITMQ_CONF_ENV_FILE: join(folder, "environment"),
    RABBITMQ_PID_FILE: join(folder, "pid"),
  };
}

/** A server that is not ready after this is killed, milliseconds. */
const startMs = 60_000;
/** A stream that does not answer within this is taken as lost until the next restart, milliseconds. It takes up to four seconds. */
const answerMs = 15_000;
/** How many times a broker whose stream stays down is started again. */
const restarts = 3;

/**
 * Starts the server and waits until it is ready. Returns a function that kills it. Throws the server's output if it exits
 * first.
 */
async function startServer(command: string, env: Environment): Promise<() => Promise<void>> {
  const { PATH } = process.env;
  // The command is a script: signals go to all that it starts.
  const server = spawn(command, { env: { PATH, ...env }, stdio: ["ignore", "pipe", "pipe"], detached: true });
  const end = once(server, "close");
  const signal = () => {
    try {
      if (server.pid) process.kill(-server.pid, "SIGKILL");
    } catch {}
  };
  process.once("exit", signal);
  let output = "";
  const timer = setTimeout(signal, startMs);
  await new Promise<void>((done, fail) => {
    server.once("error", (error) => fail(new Error(`${command} does not start (install rabbitmq-server): ${error.message}`)));
    server.once("close", () => fail(new Error(`${command} ended before it was ready:\n${output}`)));
    for (const stream of [server.stdout, server.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (/Server startup complete/.test(output)) done();
      });
  }).finally(() => clearTimeout(timer));
  return async () => {
    process.off("exit", signal);
    signal();
    await end;
  };
}

type Connected = <T>(run: (channel: AMQPChannel) => Promise<T>) => Promise<T>;

/** Waits until the queue exists and a message to the stream can be read from it. Returns the last error if they do not answer. */
async function waitUntilAnswering(withConnection: Connected): Promise<string | null> {
  const deadline = Date.now() + answerMs;
  for (;;) {
    try {
      await withConnection((channel) => {
        const late = sleep(Math.max(0, deadline - Date.now()), undefined, { ref: false }).then(() => {
          throw new Error("the stream returns no message");
        });
        return Promise.race([readMark(channel), late]);
      });
      return null;
    } catch (error) {
      if (Date.now() >= deadline) return (error as Error).message;
      await sleep(200);
    }
  }
}

/**
 * Reads a mark from the stream. While the stream is down, a passive declare and a consume are refused (404), but a published
 * message is confirmed and lost. A declare can also succeed while a consume is still refused (406, no replica on this node).
 */
async function readMark(channel: AMQPChannel): Promise<void> {
  await channel.queueDeclare(incoming, { passive: true });
  await channel.prefetch(1);
  const id = randomBytes(8).toString("hex");
  const { promise, resolve } = Promise.withResolvers<void>();
  await channel.basicConsume(published, { noAck: false, args: { "x-stream-offset": "next" } }, async (message) => {
    await message.ack();
    if (message.properties.messageId === id) resolve();
  });
  await channel.confirmSelect();
  await channel.basicPublish("", published, "", { messageId: id, type: mark });
  await promise;
}

/** The stream up to a mark that this writes at its end. */
async function readAll(channel: AMQPChannel): Promise<string[]> {
  const end = randomBytes(8).toString("hex");
  const ids: string[] = [];
  await channel.prefetch(1_000);
  await channel.confirmSelect();
  try {
    await channel.basicPublish("", published, "", { messageId: end, type: mark });
  } catch {
    return [];
  }
  await new Promise<void>((done, fail) => {
    channel.onerror = (reason) => fail(new Error(reason));
    channel
      .basicConsume(published, { noAck: false, args: { "x-stream-offset": "first" } }, async (message) => {
        await message.ack();
        if (message.properties.messageId === end) done();
        else if (message.properties.type !== mark) ids.push(message.properties.messageId ?? "");
      })
      .catch(fail);
  });
  return ids;
}
