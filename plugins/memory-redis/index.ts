import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { redisBackend } from "./backend.ts";

export default definePlugin({
  id: "memory-redis",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Short-term memories in Redis.",
  config: z.object({}),
  needs: ["redis", "vectors"],
  setup: ({ redis, vectors }) => ({ memories: { redis: redisBackend(redis, vectors) } }),
});
