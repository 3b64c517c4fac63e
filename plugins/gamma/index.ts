import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { clients } from "./client.ts";
import { conversions } from "./conversions.ts";
import { gammaSource } from "./source.ts";
import { gammaTools } from "./tools.ts";

export default definePlugin({
  id: "gamma",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Issues and comments of gamma (Jira Cloud, REST API v3; Server and Data Center, v2).",
  config: z.object({}),
  needs: ["fetch", "offload", "throttle"],
  offloaded: conversions,
  setup: ({ fetch, offload, throttle }) => {
    const { clientOf, restOf } = clients({ fetch, throttle });
    return { sources: { gamma: gammaSource(clientOf, restOf, offload) }, tools: gammaTools(clientOf, offload) };
  },
});
