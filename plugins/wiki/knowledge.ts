import type { HttpClient, KnowledgeConnector } from "@signalbox/sdk";
import { cloud } from "./cloud.ts";
import type { ToMarkdown } from "./conversions.ts";
import { dataCenter } from "./data-center.ts";
import { type Settings, settings } from "./settings.ts";

/** Both APIs list page ids with versions first, so that only changed pages are read. */
export function wikiKnowledge(
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
