import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { clients } from "./client.ts";
import { alphaSource } from "./source.ts";
import { alphaTools } from "./tools.ts";

export default definePlugin({
  id: "alpha",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Issues, pull requests and comments of alpha (GitHub, REST API 2022-11-28).",
  config: z.object({}),
  needs: ["fetch", "log", "throttle"],
  hosts: ["api.github.com"],
  setup: ({ fetch, log, throttle }) => {
    const clientOf = clients({ fetch, log, throttle });
    return { sources: { alpha: alphaSource(clientOf) }, tools: alphaTools(clientOf) };
  },
});
