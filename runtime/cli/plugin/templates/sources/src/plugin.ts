import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { source } from "./source.ts";

export default definePlugin({
  id: "my-plugin",
  version: own.version,
  sdk: "^0.1.0",
  about: "Receives comments of my tracker and posts answers of agents.",
  config: z.object({}),
  needs: ["fetch"],
  setup: ({ fetch }) => ({ sources: { "my-plugin": source(fetch) } }),
});
