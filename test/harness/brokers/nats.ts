import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type JsMsg, jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, headers, type NatsConnection } from "@nats-io/transport-node";
import { inject } from "vitest";
import { freePorts } from "../ports.ts";
import { type Running, runProgram } from "../process.ts";
import { eventually } from "../wait.ts";
import type { Broker } from "./broker.ts";

const incoming = "WEBHOOKS";
const published = "signalbox";
const consumer = "signalbox";

/** A nats-server with JetStream: for tests with the tag `nats-server`. */
export async function startNats(): Promise<Broker> {
  const command = inject("natsServer");
  if (command === "") throw new Error('there is no nats-server: give this test the tag "nats-server"');
  const [port = 0] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), "signalbox-nats-"));
  let program: Running | null = null;
  const kill = async () => {
    program?.signal("SIGKILL");
    await program?.ended;
    program = null;
  };
  const start = async () => {
    program = runProgram(command, ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", folder], { env: {} });
    await eventually(() => /Server is ready/.test(program?.logs() ?? ""), { timeout: 30_000 });
  };
  const connected = async <T>(run: (nats: NatsConnection) => Promise<T>): Promise<T> => {
    const nats = await connect({ servers: `127.0.0.1:${port}` });
    try {
      return await run(nats);
    } finally {
      await nats.close();
    }
  };
  await start();
  await connected(async (nats) => {
    const { streams } = await jetstreamManager(nats);
    await streams.add({ name: incoming, subjects: ["webhooks.>"] });
  });
  return {
    config: { servers: `nats://127.0.0.1:${port}`, incoming_stream: incoming },
    send: (webhooks) =>
      connected(async (nats) => {
        const js = jetstream(nats);
        await Promise.all(
          webhooks.map(({ id, webhook, body, headers: given }) => {
            const all = headers();
            for (const [name, value] of Object.entries(given)) all.set(name, value);
            return js.publish(`webhooks.${webhook}`, body, { msgID: id, headers: all });
          }),
        );
      }),
    published: () => connected((nats) => readAll(nats)),
    waiting: () =>
      connected(async (nats) => {
        const { consumers } = await jetstreamManager(nats);
        const { num_pending, num_ack_pending } = await consumers.info(incoming, consumer);
        return num_pending + num_ack_pending;
      }),
    kill,
    start,
    [Symbol.asyncDispose]: async () => {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
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
