import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { clients } from "./client.ts";
import { conversions } from "./conversions.ts";
import { deltaSource } from "./source.ts";
import { deltaTools } from "./tools.ts";

export default definePlugin({
  id: "delta",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Issues and comments of delta (Plane, REST API v1).",
  config: z.object({}),
  needs: ["fetch", "offload", "throttle"],
  offloaded: conversions,
  hosts: ["api.plane.so"],
  setup: ({ fetch, offload, throttle }) => {
    const { clientOf, secondOf } = clients({ fetch, throttle });
    return { sources: { delta: deltaSource(clientOf, secondOf, offload) }, tools: deltaTools(clientOf, offload) };
  },
});
