import { definePlugin } from "@signalbox/sdk";
import own from "../package.json" with { type: "json" };
import { config } from "./config.ts";
import { openConnection } from "./connection.ts";
import { natsQueue } from "./queue.ts";

export default definePlugin({
  id: "queue-nats",
  version: own.version,
  sdk: "^0.1.0",
  about: "Publishes events and finished executions to NATS JetStream, and receives webhooks from it.",
  config,
  needs: ["tcp", "secret", "log"],
  setup: (context) => {
    const connection = openConnection(context, context.config);
    return { queues: { nats: natsQueue(connection, context, context.config) }, dispose: () => connection.close() };
  },
});
