import { definePlugin } from "@signalbox/sdk";
import { z } from "zod";
import { clients } from "./client.ts";
import { conversions, toMarkdownWith } from "./conversions.ts";
import { wikiKnowledge } from "./knowledge.ts";

export default definePlugin({
  id: "wiki",
  version: "0.1.0",
  sdk: "^0.1.0",
  about: "Pages of a wiki as knowledge (Confluence Cloud, REST API v2; Data Center and Server, REST API v1).",
  config: z.object({}),
  needs: ["fetch", "offload"],
  offloaded: conversions,
  setup: ({ fetch, offload }) => ({ knowledge: { wiki: wikiKnowledge(clients({ fetch }), toMarkdownWith(offload)) } }),
});
