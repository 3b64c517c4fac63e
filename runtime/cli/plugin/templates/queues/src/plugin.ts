import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { queue } from "./queue.ts";

export default definePlugin({
  id: "my-plugin",
  version: own.version,
  sdk: "^0.1.0",
  about: "Publishes Signalbox's messages to a queue service.",
  config: z.object({
    url: z.url({ protocol: /^https?$/ }).describe("Address of the queue service."),
    token: z.string().min(1).optional().describe("Token of the queue service."),
  }),
  needs: ["fetch"],
  setup: ({ config, fetch }) => ({ queues: { "my-plugin": queue(config, fetch) } }),
});
