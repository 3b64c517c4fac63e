import { type HttpClient, type KnowledgePage, PluginError } from "@signalbox/sdk";
import { z } from "zod";
import { cursorAfter, listedPages, noSpace, pageUrl, parameterOf, positionOf, revisionOf, type WikiApi } from "./api.ts";
import type { ToMarkdown } from "./conversions.ts";
import { type Settings, spacesOf, webUrlOf } from "./settings.ts";

/** https://developer.atlassian.com/server/confluence/rest/ */
const id = z.union([z.string(), z.number()]).transform(String);
const spaceShape = z.object({ key: z.string() });
const pageEntry = z.object({
  id,
  type: z.string().default("page"),
  status: z.string().default("current"),
  version: z.object({
    number: z.number(),
    when: z.string().nullish(),
    by: z.object({ displayName: z.string().nullish() }).nullish(),
  }),
  space: spaceShape,
});
const pageList = z.object({ results: z.array(z.unknown()), _links: z.object({ next: z.string().optional() }).default({}) });
const fullPage = pageEntry.extend({
  title: z.string(),
  body: z.object({ storage: z.object({ value: z.string() }) }),
  _links: z.object({ webui: z.string().optional(), base: z.string().optional() }).default({}),
});

const portion = 200;

export const dataCenter: WikiApi = {
  async list(client, { cursor }, { connection, signal }) {
    const spaces = spacesOf(connection);
    const at = positionOf(cursor, spaces);
    await mustSee(client, at.key, signal);
    const start = Number(at.next ?? 0);
    const { data } = await client.read({
      route: "GET /content",
      query: { spaceKey: at.key, type: "page", status: "current", expand: "version,space", start, limit: portion },
      schema: pageList,
      signal,
    });
    const next = data._links.next === undefined ? null : Number(parameterOf(data._links.next, "start") ?? start + portion);
    const forward = next !== null && next > start ? String(next) : null;
    return {
      pages: listedPages(pageEntry, data.results, (page) => revisionOf(page.version.number, page.space.key)),
      cursor: cursorAfter(at, forward, spaces),
    };
  },

  async read(client, ids, { connection, signal }, toMarkdown) {
    const spaces = spacesOf(connection);
    const keys = new Set(spaces.map((key) => key.toLowerCase()));
    // The only request for several pages uses the search index, which lags behind. The client limits concurrency.
    const pages = await Promise.all(ids.map((one) => readOne(client, one, connection, signal, toMarkdown)));
    // Otherwise, the pages of a space that is no longer visible would be treated as deleted.
    if (pages.includes(null)) for (const key of spaces) await mustSee(client, key, signal);
    return pages.filter((page) => page !== null && keys.has(page.space?.toLowerCase() ?? "")) as KnowledgePage[];
  },
};

/** The listing of a missing space may be empty instead of an error. */
async function mustSee(client: HttpClient, key: string, signal: AbortSignal): Promise<void> {
  try {
    await client.read({ route: "GET /space/{key}", path: { key }, schema: spaceShape, signal });
  } catch (error) {
    throw error instanceof PluginError && error.code === "not_found" ? noSpace(key) : error;
  }
}

async function readOne(
  client: HttpClient,
  page: string,
  connection: Settings,
  signal: AbortSignal,
  toMarkdown: ToMarkdown,
): Promise<KnowledgePage | null> {
  try {
    const { data } = await client.read({
      route: "GET /content/{id}",
      path: { id: page },
      query: { expand: "body.storage,version,space" },
      schema: fullPage,
      signal,
    });
    if (data.type !== "page" || data.status !== "current") return null;
    return {
      id: data.id,
      revision: revisionOf(data.version.number, data.space.key),
      title: data.title,
      url: pageUrl(data._links.base, webUrlOf(connection), data._links.webui),
      space: data.space.key,
      body: await toMarkdown(data.body.storage.value),
      author: data.version.by?.displayName ?? null,
      edited_at: data.version.when ?? null,
    };
  } catch (error) {
    // The wiki answers 404 or 403 for a page that this account may not view.
    if (error instanceof PluginError && ["not_found", "unauthorized"].includes(error.code)) return null;
    throw error;
  }
}
