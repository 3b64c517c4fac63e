import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { backend } from "./backend.ts";
import { store } from "./store.ts";

export default definePlugin({
  id: "my-plugin",
  version: own.version,
  sdk: "^0.1.0",
  about: "Stores memories in a store of JSON documents.",
  config: z.object({
    url: z.url({ protocol: /^https?$/ }).describe("Address of the store."),
    token: z.string().min(1).optional().describe("Token of the store."),
  }),
  needs: ["fetch", "vectors"],
  setup: ({ config, fetch, vectors }) => ({ memories: { "my-plugin": backend(store(config, fetch), vectors) } }),
});
