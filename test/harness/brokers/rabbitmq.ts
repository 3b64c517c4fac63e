import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AMQPChannel, AMQPClient } from "@cloudamqp/amqp-client";
import { inject } from "vitest";
import { freePorts } from "../ports.ts";
import { type Running, runProgram } from "../process.ts";
import { eventually } from "../wait.ts";
import type { Broker } from "./broker.ts";

const incoming = "webhooks";
const published = "signalbox.events";
const mark = "dev.signalbox.publisher.read";

/** A RabbitMQ without plugins: for tests with the tag `rabbitmq-server`. */
export async function startRabbitmq(): Promise<Broker> {
  const command = inject("rabbitmqServer");
  if (command === "") throw new Error('there is no rabbitmq-server: give this test the tag "rabbitmq-server"');
  const [port = 0, between = 0, names = 0] = await freePorts(3);
  const folder = mkdtempSync(join(tmpdir(), "signalbox-rabbitmq-"));
  writeFileSync(join(folder, "enabled_plugins"), "[].");
  for (const name of ["rabbitmq.conf", "environment"]) writeFileSync(join(folder, name), "");
  const env = {
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
    RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq"),
    RABBITMQ_ADVANCED_CONFIG_FILE: join(folder, "advanced.config"),
    RABBITMQ_CONF_ENV_FILE: join(folder, "environment"),
    RABBITMQ_PID_FILE: join(folder, "pid"),
  };
  let program: Running | null = null;
  const kill = async () => {
    program?.signal("SIGKILL");
    await program?.ended;
    program = null;
  };
  const start = async () => {
    program = runProgram(command, [], { env, group: true });
    await eventually(() => /Server startup complete/.test(program?.logs() ?? ""), { timeout: 60_000, interval: 100 });
  };
  const connected = async <T>(run: (channel: AMQPChannel) => Promise<T>): Promise<T> => {
    const client = new AMQPClient(`amqp://127.0.0.1:${port}`);
    await client.connect();
    try {
      return await run(await client.channel());
    } finally {
      await client.close();
    }
  };
  await start();
  await connected(async (channel) => {
    await channel.queueDeclare(incoming, { durable: true });
    // Now, not by the plugin: RabbitMQ 3.10 loses a stream if it is killed within a second of its declaration.
    await channel.queueDeclare(published, { durable: true }, { "x-queue-type": "stream", "x-max-age": "7D" });
  });
  return {
    config: { url: `amqp://127.0.0.1:${port}/`, incoming_queue: incoming },
    send: (webhooks) =>
      connected(async (channel) => {
        await channel.exchangeDeclare("webhooks", "topic", { durable: true });
        await channel.queueBind(incoming, "webhooks", "webhooks.#");
        await channel.confirmSelect();
        await Promise.all(
          webhooks.map(({ id, webhook, body, headers }) =>
            channel.basicPublish("webhooks", `webhooks.${webhook}`, body, { messageId: id, headers, deliveryMode: 2 }),
          ),
        );
      }),
    published: () => connected(readAll),
    waiting: () => connected(async (channel) => (await channel.queueDeclare(incoming, { passive: true })).messageCount),
    kill,
    start,
    [Symbol.asyncDispose]: async () => {
      await kill();
      // The name server that Erlang starts beside it.
      try {
        execFileSync("epmd", ["-port", String(names), "-kill"], { stdio: "ignore" });
      } catch {}
      rmSync(folder, { recursive: true, force: true });
    },
  };
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
