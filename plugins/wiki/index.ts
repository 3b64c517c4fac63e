import { definePlugin, type HttpClient, type KnowledgeConnector } from "@signalbox/sdk";
import { z } from "zod";
import { clients } from "./client.ts";
import { cloud } from "./cloud.ts";
import { conversions, type ToMarkdown, toMarkdownWith } from "./conversions.ts";
import { dataCenter } from "./data-center.ts";
import { type Settings, settings } from "./settings.ts";

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

/** Both APIs list page ids with versions first, so that only changed pages are read. */
function wikiKnowledge(
  clientOf: (connection: Settings) => HttpClient,
  toMarkdown: ToMarkdown,
): KnowledgeConnector<typeof settings> {
  const api = (connection: Settings) => (connection.is_cloud ? cloud : dataCenter);
  return {
    about: "Pages of a wiki (Confluence Cloud, REST API v2; Data Center and Server, REST API v1).",
    config: settings,
    secrets: ["api_token"],
    list: (from, call) => api(call.connection).list(clientOf(call.connection), from, call),
    read: (ids, call) => api(call.connection).read(clientOf(call.connection), ids, call, toMarkdown),
  };
}
