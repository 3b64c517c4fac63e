import { inject } from "vitest";
import { startBroker as startRabbitmqBroker } from "../../plugins/queue-amqp/test/broker.ts";
import { startBroker as startNatsBroker } from "../../plugins/queue-nats/test/broker.ts";

/** A webhook that a test publishes on a message bus. */
export interface Sent {
  readonly id: string;
  readonly webhook: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/**
 * The message broker of one test, on loopback, and the settings of the plugin that connects it. It keeps acknowledged messages
 * after `kill`.
 */
export interface Broker {
  /** Settings of the plugin. */
  readonly config: Readonly<Record<string, string>>;
  /** Publishes webhooks for the plugin; resolves once the broker has stored them. */
  send(webhooks: readonly Sent[]): Promise<void>;
  /** Ids of the CloudEvents that the plugin published, in the order of the stream. */
  published(): Promise<string[]>;
  /** Number of webhooks that are not acknowledged, once the service has disconnected. */
  waiting(): Promise<number>;
  /** Stops only the stream, as RabbitMQ can leave it after a kill. Returns a function that starts it. */
  stopStream?(): () => void;
  /** Refuses messages of a type that the plugin publishes from now on, for example `event.received`; `null`: none. */
  refuse(type: string | null): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts it again on its port, with its stored messages. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A nats-server with JetStream and one account: for tests with the tag `nats-server`. */
export async function startNats(): Promise<Broker> {
  const account = { user: "signalbox", password: "a-password" };
  const broker = await startNatsBroker({ command: installed("nats-server", inject("natsServer")), account });
  return { ...broker, config: { ...broker.config, ...account } };
}

/** A RabbitMQ without plugins: for tests with the tag `rabbitmq-server`. */
export const startRabbitmq = (): Promise<Broker> =>
  startRabbitmqBroker({ command: installed("rabbitmq-server", inject("rabbitmqServer")) });

function installed(name: string, command: string): string {
  if (command === "") throw new Error(`${name} is not installed; give this test the tag "${name}", so that it is skipped`);
  return command;
}
