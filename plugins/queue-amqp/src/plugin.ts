import { definePlugin } from "@signalbox/sdk";
import own from "../package.json" with { type: "json" };
import { openClient } from "./client.ts";
import { config } from "./config.ts";
import { openFeed } from "./feed.ts";
import { openPublisher } from "./publisher.ts";

export default definePlugin({
  id: "queue-amqp",
  version: own.version,
  sdk: "^0.1.0",
  about: "Publishes events and finished executions to RabbitMQ (AMQP 0-9-1), and receives webhooks from it.",
  config,
  needs: ["tcp", "secret", "log"],
  setup: (context) => {
    const connect = () => openClient(context, context.config);
    const publisher = openPublisher(connect, context.config);
    const feed = openFeed(connect, context, context.config);
    return {
      queues: {
        amqp: {
          about: "RabbitMQ: events and executions as CloudEvents, and incoming webhooks.",
          publish: publisher.publish,
          receive: feed.receive,
          acknowledge: feed.acknowledge,
        },
      },
      dispose: async () => {
        await Promise.all([publisher.close(), feed.close()]);
      },
    };
  },
});
