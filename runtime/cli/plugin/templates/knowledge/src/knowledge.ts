import { type CallContext, httpClient, type KnowledgeConnector, PluginError, sanitizeText } from "@signalbox/sdk";
import { z } from "zod";

/** The settings of one knowledge source. */
const settings = z.object({
  url: z.url({ protocol: /^https?$/ }).describe("Address of the handbook's API."),
  book: z.string().min(1).max(100).describe("The book whose pages are indexed."),
  token: z.string().min(1).optional().describe("Token with read access."),
});
type Settings = z.output<typeof settings>;

const pageList = z.array(z.object({ id: z.string(), version: z.number() }));
const read = z.array(z.object({ id: z.string(), version: z.number(), title: z.string(), markdown: z.string(), url: z.string() }));
/** Pages per request to the list. */
const portion = 100;

export function knowledge(fetch: typeof globalThis.fetch): KnowledgeConnector<typeof settings> {
  const pages = async <T>(
    { connection, signal }: CallContext<Settings>,
    query: Record<string, string | number>,
    shape: z.ZodType<T>,
  ) => {
    const { url, book, token } = connection;
    const client = httpClient({
      platform: "the handbook",
      base: url.replace(/\/+$/, ""),
      headers: token ? { authorization: `Bearer ${token}` } : {},
      fetch,
      secrets: token ? [token] : [],
    });
    return (await client.read({ route: "GET /books/{book}/pages", path: { book }, query, schema: shape, signal })).data;
  };
  return {
    about: "Pages of a handbook, API version 1.",
    config: settings,
    secrets: ["token"],
    // Another process may request the next part, so the cursor itself must contain the position.
    list: async ({ cursor }, call) => {
      const after = cursor === null ? 0 : Number(/^after-(\d{1,9})$/.exec(cursor)?.[1] ?? Number.NaN);
      if (Number.isNaN(after)) throw new PluginError("invalid_input", "This cursor was not made by this connector.");
      const entries = await pages(call, { offset: after, limit: portion }, pageList);
      return {
        pages: entries.map(({ id, version }) => ({ id, revision: String(version) })),
        cursor: entries.length < portion ? null : `after-${after + portion}`,
      };
    },
    read: async (ids, call) =>
      (await pages(call, { ids: JSON.stringify(ids) }, read)).map(({ id, version, title, markdown, url }) => ({
        id,
        url,
        revision: String(version),
        title: sanitizeText(title),
        body: sanitizeText(markdown),
        space: call.connection.book,
      })),
  };
}
