import { inject } from "vitest";
import { startBroker } from "../../../plugins/queue-nats/test/broker.ts";
import { freePorts } from "../../../sdk/testing/free-ports.ts";
import type { Broker } from "./broker.ts";

/** A nats-server with JetStream: for tests with the tag `nats-server`. */
export async function startNats(): Promise<Broker> {
  const command = inject("natsServer");
  if (command === "") throw new Error('there is no nats-server: give this test the tag "nats-server"');
  const [port = 0] = await freePorts(1);
  return startBroker({ command, port });
}
