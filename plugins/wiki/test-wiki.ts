import { type FakeResponse, FakeServer, type RecordedRequest, type TestWiki } from "@signalbox/sdk/testing";

interface Page {
  readonly id: string;
  readonly space: string;
  title: string;
  body: string;
  version: number;
  status: "current" | "trashed";
}

export const account = { email: "ann@example.com", api_token: "wiki-token-1" };

/** The part of the wiki's REST API (Cloud version 2 or Data Center version 1) that the plugin uses, with state. */
export class FakeWiki extends FakeServer implements TestWiki {
  readonly #pages = new Map<string, Page>();
  /** Key → id. */
  readonly #spaces: ReadonlyMap<string, string>;
  readonly #cloud: boolean;
  #ids = 1000;
  /** Most pages per response. */
  maxListed = 250;

  constructor(cloud = true, spaces: readonly string[] = ["DOCS", "OPS"]) {
    super();
    this.#cloud = cloud;
    this.#spaces = new Map(spaces.map((key, i) => [key, String(77 + i)]));
  }

  ids = (): string[] => this.#in([...this.#spaces.keys()]).map(({ id }) => id);
  page = (id: string): Readonly<Page> | undefined => this.#pages.get(id);

  add({ title, body, space }: { title: string; body: string; space?: string }): string {
    const id = String(++this.#ids);
    const [first = ""] = this.#spaces.keys();
    this.#pages.set(id, { id, space: space ?? first, title, body, version: 1, status: "current" });
    return id;
  }
  edit(id: string, change: { title?: string; body?: string }): void {
    const page = this.#pages.get(id);
    if (page) Object.assign(page, change, { version: page.version + 1 });
  }
  remove(id: string): void {
    const page = this.#pages.get(id);
    if (page) page.status = "trashed";
  }

  #in = (spaces: readonly string[]): Page[] =>
    [...this.#pages.values()].filter(({ space, status }) => status === "current" && spaces.includes(space));

  protected route(request: RecordedRequest): FakeResponse {
    const basic = `Basic ${Buffer.from(`${account.email}:${account.api_token}`).toString("base64")}`;
    if (![basic, `Bearer ${account.api_token}`].includes(request.headers.authorization ?? ""))
      return { status: 401, body: { message: "Log in first." } };
    return this.#cloud ? this.#version2(request) : this.#version1(request);
  }

  #version2({ path, query }: RecordedRequest): FakeResponse {
    const base = "/wiki/api/v2";
    if (path === `${base}/spaces`) {
      const keys = query.get("keys")?.split(",") ?? [];
      const results = [...this.#spaces].filter(([key]) => keys.includes(key)).map(([key, id]) => ({ id, key, name: key }));
      return { status: 200, body: { results, _links: {} } };
    }
    const of = new RegExp(`^${base}/spaces/(\\d+)/pages$`).exec(path)?.[1];
    const space = [...this.#spaces].find(([, id]) => id === of)?.[0];
    if (space !== undefined) return this.#portion(path, query, this.#in([space]));
    if (path !== `${base}/pages`) return { status: 404, body: { errors: [{ status: 404, title: "Not Found" }] } };
    const ids = query.get("id")?.split(",") ?? [];
    if (ids.some((id) => !/^\d+$/.test(id))) return { status: 400, body: { errors: [{ title: "id must be a number" }] } };
    return this.#portion(
      path,
      query,
      this.#in([...this.#spaces.keys()]).filter(({ id }) => ids.includes(id)),
    );
  }

  #portion(path: string, query: URLSearchParams, all: readonly Page[]): FakeResponse {
    const start = Number(query.get("cursor") ?? 0);
    const size = Math.min(Number(query.get("limit") ?? 25), this.maxListed);
    const withBody = query.get("body-format") === "storage";
    const results = all.slice(start, start + size).map((page) => ({
      id: page.id,
      status: page.status,
      title: page.title,
      spaceId: this.#spaces.get(page.space),
      version: { number: page.version, createdAt: "2026-01-01T00:00:00Z" },
      body: withBody ? { storage: { value: page.body, representation: "storage" } } : {},
      _links: { webui: `/spaces/${page.space}/pages/${page.id}/${encodeURIComponent(page.title.toWellFormed())}` },
    }));
    const next = start + size < all.length ? { next: `${path}?cursor=${start + size}` } : {};
    return { status: 200, body: { results, _links: { base: `${this.url}/wiki`, ...next } } };
  }

  #version1({ path, query }: RecordedRequest): FakeResponse {
    const notFound = { status: 404, body: { statusCode: 404, message: "No content found" } };
    const space = /^\/rest\/api\/space\/(.+)$/.exec(path)?.[1];
    if (space !== undefined) return this.#spaces.has(space) ? { status: 200, body: { key: space } } : notFound;
    const id = /^\/rest\/api\/content\/(\d+)$/.exec(path)?.[1];
    if (id !== undefined) {
      const page = this.#pages.get(id);
      return page?.status === "current" ? { status: 200, body: this.#content(page, query) } : notFound;
    }
    if (path !== "/rest/api/content") return notFound;
    const start = Number(query.get("start") ?? 0);
    const limit = Math.min(Number(query.get("limit") ?? 25), this.maxListed);
    const all = this.#in([query.get("spaceKey") ?? ""]);
    const results = all.slice(start, start + limit).map((page) => this.#content(page, query));
    const next = start + limit < all.length ? { next: `/rest/api/content?start=${start + limit}&limit=${limit}` } : {};
    return { status: 200, body: { results, start, limit, size: results.length, _links: { base: this.url, ...next } } };
  }

  #content(page: Page, query: URLSearchParams): Record<string, unknown> {
    const expand = query.get("expand")?.split(",") ?? [];
    return {
      id: page.id,
      type: "page",
      status: page.status,
      title: page.title,
      ...(expand.includes("version") && {
        version: { number: page.version, when: "2026-01-01T00:00:00.000Z", by: { displayName: "Ada" } },
      }),
      ...(expand.includes("space") && { space: { key: page.space } }),
      ...(expand.includes("body.storage") && { body: { storage: { value: page.body, representation: "storage" } } }),
      _links: { webui: `/display/${page.space}/${page.id}`, base: this.url },
    };
  }
}
