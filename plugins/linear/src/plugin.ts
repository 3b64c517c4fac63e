import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { clients } from "./client.ts";
import { source } from "./source.ts";
import { tools } from "./tools.ts";

export default definePlugin({
  id: "linear",
  version: own.version,
  sdk: "^0.1.0",
  about: "Issues and comments of Linear.",
  config: z.object({}),
  needs: ["fetch", "throttle"],
  hosts: ["api.linear.app"],
  setup: ({ fetch, throttle }) => {
    const clientOf = clients({ fetch, throttle });
    return { sources: { linear: source(clientOf) }, tools: tools(clientOf) };
  },
});
