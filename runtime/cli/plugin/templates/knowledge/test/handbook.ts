import { type FakeResponse, FakeServer, type RecordedRequest, type TestWiki } from "@signalbox/sdk/testing";

interface Page {
  readonly id: string;
  readonly version: number;
  readonly title: string;
  readonly markdown: string;
  readonly url: string;
}

/** The part of the handbook's API that the plugin uses. FakeServer injects faults (timeouts, truncated responses, 429). */
export class Handbook extends FakeServer implements TestWiki {
  readonly #pages = new Map<string, Page>();
  #made = 0;

  ids = (): string[] => [...this.#pages.keys()];

  add({ title, body }: { title: string; body: string }): string {
    const id = `page-${++this.#made}`;
    this.#pages.set(id, { id, version: 1, title, markdown: body, url: `https://handbook.example.com/${id}` });
    return id;
  }
  edit(id: string, { title, body }: { title?: string; body?: string }): void {
    const page = this.#pages.get(id);
    if (!page) return;
    const { version, title: before, markdown } = page;
    this.#pages.set(id, { ...page, version: version + 1, title: title ?? before, markdown: body ?? markdown });
  }
  remove(id: string): void {
    this.#pages.delete(id);
  }

  protected route({ path, query, headers }: RecordedRequest): FakeResponse {
    if (headers.authorization !== "Bearer test-token") return { status: 401, body: { message: "bad token" } };
    if (path !== "/books/staff/pages") return { status: 404, body: { message: "no such book" } };
    const [all, ids] = [[...this.#pages.values()], query.get("ids")];
    if (ids !== null) return { status: 200, body: all.filter(({ id }) => (JSON.parse(ids) as string[]).includes(id)) };
    const offset = Number(query.get("offset"));
    const part = all.slice(offset, offset + Number(query.get("limit")));
    return { status: 200, body: part.map(({ id, version }) => ({ id, version })) };
  }
}

/** A handbook with enough pages for two requests to the list. */
export async function startHandbook(): Promise<Handbook> {
  const handbook = await new Handbook().listen();
  for (let i = 1; i <= 130; i++) handbook.add({ title: `Page ${i}`, body: `What page ${i} says.` });
  return handbook;
}
