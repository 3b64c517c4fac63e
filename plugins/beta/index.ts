import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { clients } from "./client.ts";
import { betaSource } from "./source.ts";
import { betaTools } from "./tools.ts";

export default definePlugin({
  id: "beta",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Issues, merge requests and notes of beta (GitLab, REST API v4).",
  config: z.object({}),
  needs: ["fetch", "throttle"],
  hosts: ["gitlab.com"],
  setup: ({ fetch, throttle }) => {
    const clientOf = clients({ fetch, throttle });
    return { sources: { beta: betaSource(clientOf) }, tools: betaTools(clientOf) };
  },
});
