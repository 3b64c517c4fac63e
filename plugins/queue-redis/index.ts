import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { redisQueue } from "./queue.ts";

export default definePlugin({
  id: "queue-redis",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Message queue in Redis for received events and finished executions.",
  config: z.object({}),
  needs: ["redis"],
  setup: ({ redis }) => ({ queues: { redis: redisQueue(redis) } }),
});
