import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { clients } from "./client.ts";
import { deltaSource } from "./source.ts";
import { deltaTools } from "./tools.ts";

export default definePlugin({
  id: "delta",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Issues and comments of delta (Plane, REST API v1).",
  config: z.object({}),
  needs: ["fetch", "pace"],
  hosts: ["api.plane.so"],
  setup: ({ fetch, pace }) => {
    const clientOf = clients({ fetch, pace });
    return { sources: { delta: deltaSource(clientOf) }, tools: deltaTools(clientOf) };
  },
});
