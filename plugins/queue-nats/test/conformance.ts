import type { Conformance, QueueEnvironment } from "@signalbox/sdk/testing";
import { startBroker } from "./broker.ts";

interface Environment extends QueueEnvironment {
  readonly broker: Awaited<ReturnType<typeof startBroker>>;
  readonly config: Record<string, string>;
}

const account = { user: "test-user", password: "test-password" };

const start = async (): Promise<Environment> => {
  const broker = await startBroker({ account });
  return { broker, config: broker.config, close: broker.close };
};
const brokerOf = (environment: QueueEnvironment) => (environment as Environment).broker;

/** Input for the suites of `signalbox plugin test`, with a NATS server for each case. */
export const conformance: Conformance = {
  secrets: { ...account, token: "", credentials: "" },
  queues: {
    nats: {
      start,
      forwarded: { read: (environment) => brokerOf(environment).published() },
      incoming: (environment, webhooks) => brokerOf(environment).send(webhooks),
    },
  },
};
