import { inject } from "vitest";
import { startBroker } from "../../../plugins/queue-amqp/test/broker.ts";
import { freePorts } from "../../../sdk/testing/free-ports.ts";
import type { Broker } from "./broker.ts";

/** A RabbitMQ without plugins: for tests with the tag `rabbitmq-server`. */
export async function startRabbitmq(): Promise<Broker> {
  const command = inject("rabbitmqServer");
  if (command === "") throw new Error('there is no rabbitmq-server: give this test the tag "rabbitmq-server"');
  return startBroker({ command, ports: await freePorts(3) });
}
