import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import own from "../package.json" with { type: "json" };
import { clients } from "./client.ts";
import { source } from "./source.ts";
import { tools } from "./tools.ts";

export default definePlugin({
  id: "gitea",
  version: own.version,
  sdk: "^0.1.0",
  about: "Issues, pull requests and comments of Gitea and Forgejo.",
  config: z.object({}),
  needs: ["fetch", "throttle"],
  setup: ({ fetch, throttle }) => {
    const client = clients({ fetch, throttle });
    return { sources: { gitea: source(client) }, tools: tools(client) };
  },
});
