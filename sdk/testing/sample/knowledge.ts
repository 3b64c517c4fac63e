import { z } from "zod";
import { PluginError } from "../../errors.ts";
import { httpClient } from "../../http-client.ts";
import type { KnowledgeConnector } from "../../knowledge.ts";
import { definePlugin, type Plugin } from "../../plugin.ts";
import type { CallContext } from "../../source.ts";
import { type FakeResponse, FakeServer, type RecordedRequest } from "../fake-server.ts";
import type { KnowledgeFixtures, TestWiki } from "../knowledge-suite.ts";

/** `proxy_password` and `pin` are secrets that are not set. */
const settings = z.object({
  url: z.url(),
  shelf: z.string(),
  token: z.string(),
  proxy_password: z.string().default(""),
  pin: z.string().optional(),
});
type Settings = z.output<typeof settings>;
const row = z.object({ id: z.string(), version: z.number(), title: z.string(), body: z.string() });

/** One shelf of pages in Markdown: `GET /shelves/main?after=`, `GET /shelves/main?ids=`. */
class Shelf extends FakeServer implements TestWiki {
  readonly #pages = new Map<string, z.output<typeof row>>();
  ids = (): string[] => [...this.#pages.keys()];
  add({ title, body }: { title: string; body: string }): string {
    const id = `p${100 + this.#pages.size}`;
    this.#pages.set(id, { id, version: 1, title, body });
    return id;
  }
  edit(id: string, change: { title?: string; body?: string }): void {
    const page = this.#pages.get(id);
    if (page) this.#pages.set(id, { ...page, ...change, version: page.version + 1 });
  }
  remove = (id: string): void => void this.#pages.delete(id);
  protected route({ path, query, headers }: RecordedRequest): FakeResponse {
    if (headers.authorization !== "Bearer shelf-token") return { status: 401, body: { message: "who?" } };
    if (path !== "/shelves/main") return { status: 404, body: { message: "no such shelf" } };
    const ids = query.get("ids")?.split(",");
    const all = [...this.#pages.values()];
    if (ids) return { status: 200, body: all.filter(({ id }) => ids.includes(id)) };
    return { status: 200, body: all.filter(({ id }) => id > (query.get("after") ?? "")).slice(0, 20) };
  }
}

type Change = (right: KnowledgeConnector<typeof settings>) => Partial<KnowledgeConnector<typeof settings>>;

/** A right connector, changed where a test wants it wrong. */
export const sampleKnowledge = (change: Change = () => ({})): Plugin =>
  definePlugin({
    id: "shelf",
    version: "1.0.0",
    sdk: "^0.1.0",
    config: z.object({}),
    needs: ["fetch"],
    setup: ({ fetch }) => {
      const ask = async ({ connection: { url, shelf, token }, signal }: CallContext<Settings>, query: Record<string, string>) => {
        const headers = { authorization: `Bearer ${token}` };
        const client = httpClient({ platform: "shelf", base: url, headers, fetch, secrets: [token] });
        return (await client.read({ route: "GET /shelves/{shelf}", path: { shelf }, query, schema: z.array(row), signal })).data;
      };
      const right: KnowledgeConnector<typeof settings> = {
        about: "A shelf.",
        config: settings,
        secrets: ["token", "proxy_password", "pin"],
        list: async ({ cursor }, call) => {
          if (cursor !== null && !/^p\d{3}$/.test(cursor)) throw new PluginError("invalid_input", "the cursor is none of ours");
          const rows = await ask(call, { after: cursor ?? "" });
          const last = rows.length === 20 ? rows.at(-1) : undefined;
          return { pages: rows.map(({ id, version }) => ({ id, revision: String(version) })), cursor: last?.id ?? null };
        },
        read: async (ids, call) => {
          const rows = await ask(call, { ids: ids.join(",") });
          return rows.map(({ id, version, title, body }) => ({
            id,
            title,
            revision: String(version),
            url: null,
            space: null,
            body: body.replaceAll("\0", "").toWellFormed(),
          }));
        },
      };
      return { knowledge: { shelf: { ...right, ...change(right) } } };
    },
  });

export const sampleKnowledgeFixtures: KnowledgeFixtures = {
  settings: (url) => ({ url, shelf: "main", token: "shelf-token" }),
  elsewhere: (url) => ({ url, shelf: "attic", token: "shelf-token" }),
  body: "## Setting up\n\nGröße 🦉 zählt",
  strange: ["", "a\0b", "<p>"],
  wiki: async () => {
    const shelf = await new Shelf().listen();
    for (let i = 0; i < 45; i++) shelf.add({ title: `Page ${i}`, body: `Body ${i}` });
    return shelf;
  },
};
