import type { CallContext, HttpClient, KnowledgePage } from "@signalbox/sdk";
import { z } from "zod";
import { cursorAfter, listedPages, noSpace, pageUrl, parameterOf, positionOf, revisionOf, type WikiApi } from "./api.ts";
import { type Settings, spacesOf, webUrlOf } from "./settings.ts";

/** https://developer.atlassian.com/cloud/confluence/rest/v2/ */
const id = z.union([z.string(), z.number()]).transform(String);
const links = z.object({ next: z.string().optional(), base: z.string().optional() }).default({});
const spaceList = z.object({ results: z.array(z.object({ id, key: z.string() })) });
const version = z.object({ number: z.number(), createdAt: z.string().optional() });
const pageEntry = z.object({ id, spaceId: id, status: z.string().default("current"), version });
const pageList = z.object({ results: z.array(z.unknown()), _links: links });
const fullPage = pageEntry.extend({
  title: z.string(),
  body: z.object({ storage: z.object({ value: z.string() }) }),
  _links: z.object({ webui: z.string().optional() }).default({}),
});
const wholeList = z.object({ results: z.array(fullPage), _links: links });

const portion = 250;

export const cloud: WikiApi = {
  async list(client, { cursor }, { connection, signal }) {
    const spaces = spacesOf(connection);
    const at = positionOf(cursor, spaces);
    const [space] = await spacesAt(client, [at.key], signal);
    if (!space) throw noSpace(at.key);
    const { data } = await client.read({
      route: "GET /spaces/{id}/pages",
      path: { id: space.id },
      query: { status: "current", limit: portion, cursor: at.next ?? undefined },
      schema: pageList,
      signal,
    });
    return {
      pages: listedPages(pageEntry, data.results, ({ status, version: { number } }) =>
        status === "current" ? revisionOf(number, space.key) : null,
      ),
      cursor: cursorAfter(at, parameterOf(data._links.next, "cursor"), spaces),
    };
  },

  async read(client, ids, call, toMarkdown) {
    const numbers = ids.filter((one) => /^\d{1,20}$/.test(one));
    if (numbers.length === 0) return [];
    const { connection, signal } = call;
    const spaces = await spacesAt(client, spacesOf(connection), signal);
    const keys = new Map(spaces.map((space) => [space.id, space.key]));
    // Otherwise, the pages of a space that is no longer visible would be treated as deleted.
    const seen = new Set(spaces.map(({ key }) => key.toLowerCase()));
    const hidden = spacesOf(connection).find((key) => !seen.has(key.toLowerCase()));
    if (hidden !== undefined) throw noSpace(hidden);
    const pages = await wholePages(client, numbers, call);
    const read: KnowledgePage[] = [];
    for (const { base, page } of pages) {
      const space = keys.get(page.spaceId);
      if (space === undefined || page.status !== "current") continue;
      read.push({
        id: page.id,
        revision: revisionOf(page.version.number, space),
        title: page.title,
        url: pageUrl(base, webUrlOf(connection), page._links.webui),
        space,
        body: await toMarkdown(page.body.storage.value),
        // The version names its author only by an account id, which means nothing to a reader.
        edited_at: page.version.createdAt ?? null,
      });
    }
    return read;
  },
};

async function spacesAt(client: HttpClient, keys: readonly string[], signal: AbortSignal) {
  const query = { keys: keys.join(","), limit: portion };
  const { data } = await client.read({ route: "GET /spaces", query, schema: spaceList, signal });
  const wanted = new Set(keys.map((key) => key.toLowerCase()));
  return data.results.filter(({ key }) => wanted.has(key.toLowerCase()));
}

/** The wiki may return fewer pages at a time than requested. */
async function wholePages(client: HttpClient, ids: readonly string[], { signal }: CallContext<Settings>) {
  const pages: { base: string | undefined; page: z.output<typeof fullPage> }[] = [];
  let cursor: string | undefined;
  for (let tries = 0; tries <= ids.length; tries++) {
    const query = { id: ids.join(","), status: "current", "body-format": "storage", limit: ids.length, cursor };
    const { data } = await client.read({ route: "GET /pages", query, schema: wholeList, signal });
    pages.push(...data.results.map((page) => ({ base: data._links.base, page })));
    cursor = parameterOf(data._links.next, "cursor") ?? undefined;
    if (cursor === undefined) break;
  }
  return pages;
}
