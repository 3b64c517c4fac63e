import type { Subject } from "@signalbox/sdk";
import { FakeTracker, type SeenRequest, type TrackerReply } from "@signalbox/sdk/testing";

type Row = Record<string, unknown> & { updated_at: string };
interface Note extends Row {
  readonly of: string;
}

/** beta's REST API v4, as far as the plugin uses it, with state. One project: octo/team/app, number 77. */
export class BetaTracker extends FakeTracker {
  readonly items: (Row & { readonly of: string })[] = [];
  readonly notes: Note[] = [];
  #ids = 300;

  comments = ({ issue }: Subject): readonly string[] =>
    this.notes
      .filter((note) => note.of === (issue.startsWith("!") ? `merge_requests/${issue.slice(1)}` : `issues/${issue}`))
      .map((note) => String(note.body));

  add(kind: "issues" | "merge_requests", iid: number, time: string, more: Record<string, unknown> = {}): Row {
    const item = {
      of: `${kind}/${iid}`,
      id: 9000 + iid,
      iid,
      project_id: 77,
      title: `Item ${iid}`,
      description: "Text",
      state: "opened",
      labels: ["bug"],
      author: { id: 5, username: "ann", name: "Ann" },
      web_url: `${this.url}/octo/team/app/-/${kind}/${iid}`,
      user_notes_count: 0,
      created_at: time,
      updated_at: time,
      closed_at: null,
      ...more,
    };
    this.items.push(item);
    return item;
  }

  note(of: string, body: string, time = new Date().toISOString(), username = "signalbox-bot"): Note {
    const note = { of, id: ++this.#ids, body, author: { username }, system: false, created_at: time, updated_at: time };
    this.notes.push(note);
    return note;
  }

  protected route({ method, path, query, body, headers }: SeenRequest): TrackerReply {
    if (!/^Bearer test-token-/.test(headers.authorization ?? "")) return { status: 401, body: { message: "401 Unauthorized" } };
    if (path === "/api/v4/user") return { status: 200, body: { id: 6, username: "signalbox-bot" } };
    const match = /^\/api\/v4\/projects\/(?:octo%2Fteam%2Fapp|77)\/(issues|merge_requests)(?:\/(\d+))?(\/notes)?$/.exec(path);
    if (!match) return notFound;
    const [, kind = "", iid, notes] = match;
    if (iid === undefined)
      return this.#list(
        this.items.filter((item) => item.of.startsWith(`${kind}/`)),
        query,
      );
    const item = this.items.find((one) => one.of === `${kind}/${iid}`);
    if (!item) return notFound;
    if (notes && method === "POST") {
      const made = this.note(item.of, String((body as Row).body));
      return { status: 201, body: made, wrote: true };
    }
    if (notes)
      return this.#list(
        this.notes.filter((note) => note.of === item.of),
        query,
      );
    if (method === "PUT") Object.assign(item, body, { updated_at: new Date().toISOString() });
    return { status: 200, body: item, wrote: method === "PUT" };
  }

  #list(rows: readonly Row[], query: URLSearchParams): TrackerReply {
    const [size, page] = [Number(query.get("per_page") ?? 20), Number(query.get("page") ?? 1)];
    const member = query.get("order_by") ?? "created_at";
    const sorted = rows.toSorted((a, b) => String(a[member]).localeCompare(String(b[member])) || Number(a.id) - Number(b.id));
    if (query.get("sort") !== "asc") sorted.reverse();
    const after = Date.parse(query.get("updated_after") ?? "1970-01-01");
    const all = sorted.filter((row) => Date.parse(row.updated_at) >= after);
    const next = page * size < all.length ? String(page + 1) : "";
    return { status: 200, body: all.slice((page - 1) * size, page * size), headers: { "x-next-page": next } };
  }
}

const notFound: TrackerReply = { status: 404, body: { message: "404 Not Found" } };

export const startTracker = (): Promise<BetaTracker> => new BetaTracker().listen();
