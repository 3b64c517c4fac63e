import { realpathSync } from "node:fs";
import type { Subject } from "@signalbox/sdk";
import { type FakeResponse, FakeTracker, type RecordedRequest } from "@signalbox/sdk/testing";

import { Hooks } from "./test-hooks.ts";
import { PlacedNotes } from "./test-places.ts";

type Row = Record<string, unknown> & { updated_at: string };
interface Note extends Row {
  readonly of: string;
}

/** The part of beta's REST API v4 that the plugin uses, with state. One project: octo/team/app, number 77. */
export class BetaTracker extends FakeTracker {
  readonly items: (Row & { readonly of: string })[] = [];
  readonly notes: Note[] = [];
  /** Notes elsewhere than on the issues and merge requests of octo/team/app. */
  readonly placedNotes = new PlacedNotes();
  readonly hooks = new Hooks();
  /** Whether the account may write internal notes; otherwise they are public, without an error. */
  internal = true;
  /** Scopes of the token; `null` for a server that does not tell them. */
  scopes: readonly string[] | null = ["api"];
  /** Headers about the rate limit. */
  limits: Record<string, string> = {};
  /** Access levels of members of any project, by id. */
  readonly members: Record<string, number> = {};
  /** The token may see who is a member. */
  showsMembers = true;
  readonly labelEvents: (Row & { readonly of: string })[] = [];
  #ids = 300;

  comments = ({ issue }: Subject): readonly string[] =>
    this.notes
      .filter((note) => note.of === (issue.startsWith("!") ? `merge_requests/${issue.slice(1)}` : `issues/${issue}`))
      .map((note) => String(note.body));

  privateComments = ({ issue }: Subject): readonly string[] =>
    this.notes.filter((note) => note.of === `issues/${issue}` && note.internal === true).map((note) => String(note.body));

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

  /** One edit of labels: one event per label, all at the same time. */
  relabel(
    of: string,
    change: { readonly add?: readonly string[]; readonly remove?: readonly string[] },
    time: string,
    username = "ann",
  ) {
    const item = this.items.find((one) => one.of === of);
    if (!item) throw new Error(`there is no ${of}`);
    const { add = [], remove = [] } = change;
    const keptLabels = (item.labels as string[]).filter((name) => !remove.includes(name));
    Object.assign(item, { labels: [...keptLabels, ...add], updated_at: time });
    for (const [action, names] of Object.entries({ add, remove })) {
      for (const name of names) {
        const label = { id: 70, name, color: "#34495E" };
        const event = { of, id: ++this.#ids, user: { id: 5, username }, created_at: time, updated_at: time, label, action };
        this.labelEvents.push(event);
      }
    }
  }

  protected route(request: RecordedRequest): FakeResponse {
    const { method, path, query, body, headers } = request;
    // The token test-token-user-NAME belongs to the person NAME; any other token belongs to the account that posts.
    const [, person] = /^Bearer test-token-(?:user-)?(\w+)$/.exec(headers.authorization ?? "") ?? [];
    if (person === undefined) return { status: 401, body: { message: "401 Unauthorized" } };
    const username = headers.authorization?.includes("-user-") ? person : "signalbox-bot";
    if (path === "/api/v4/user") return { status: 200, body: { id: 6, username }, headers: this.limits };
    if (path === "/api/v4/personal_access_tokens/self")
      return this.scopes ? { status: 200, body: { id: 9, name: "bot", scopes: this.scopes } } : notFound;
    const awards =
      /^\/api\/v4\/projects\/[^/]+\/(?:issues|merge_requests)\/(?:\d+\/notes\/(\d+)|(\d+))\/award_emoji(?:\/(\d+))?$/;
    const reactionResponse = this.reacted(request, awards, "name", { username });
    if (reactionResponse) return this.#touched(request, reactionResponse);
    const elsewhere = this.#elsewhere(request);
    if (elsewhere) return elsewhere;
    const editResponse = this.editComment(request, /\/notes\/(\d+)$/, this.notes);
    if (editResponse) return this.#touched(request, editResponse);
    const deleteResponse = this.deleteComment(request, /\/notes\/(\d+)$/, this.notes);
    if (deleteResponse) return deleteResponse;
    const match =
      /^\/api\/v4\/projects\/(?:octo%2Fteam%2Fapp|77)\/(issues|merge_requests)(?:\/(\d+))?(?:\/(notes|resource_label_events))?$/i.exec(
        path,
      );
    if (!match) return notFound;
    const [, kind = "", iid, list] = match;
    const notes = list === "notes";
    if (iid === undefined && method === "POST") return this.#make(body as Row, username);
    if (iid === undefined) return this.#all(kind, query);
    const item = this.items.find((one) => one.of === `${kind}/${iid}`);
    if (!item) return notFound;
    if (notes && method === "POST") {
      const made = this.note(item.of, String((body as Row).body), new Date().toISOString(), username);
      if ((body as Row).internal === true && this.internal) Object.assign(made, { internal: true });
      Object.assign(item, { updated_at: made.updated_at, user_notes_count: Number(item.user_notes_count) + 1 });
      return { status: 201, body: made, wrote: true };
    }
    if (notes)
      return this.#list(
        this.notes.filter((note) => note.of === item.of),
        query,
      );
    if (list)
      return this.#list(
        this.labelEvents.filter((event) => event.of === item.of),
        query,
        "id",
      );
    if (method === "PUT") this.#change(item, body as Record<string, unknown>);
    return { status: 200, body: item, wrote: method === "PUT" };
  }

  /** The platform moves `updated_at` of an issue for each award emoji and each edit of a note there. */
  #touched({ path }: RecordedRequest, answer: FakeResponse): FakeResponse {
    const of = /\/((?:issues|merge_requests)\/\d+)\//.exec(path)?.[1];
    const item = this.items.find((one) => one.of === of);
    if (answer.wrote && item) item.updated_at = new Date().toISOString();
    return answer;
  }

  /** Requests that are not about an issue or merge request of this tracker. */
  #elsewhere(request: RecordedRequest): FakeResponse | null {
    const { path } = request;
    const ownPath = /^\/api\/v4\/projects\/(?:octo%2Fteam%2Fapp|77)\/((?:issues|merge_requests)\/\d+)\/notes/.exec(path)?.[1];
    if (this.items.some(({ of }) => of === ownPath)) return null;
    return this.#member(path) ?? this.hooks.route(request) ?? this.placedNotes.route(request);
  }

  #member(path: string): FakeResponse | null {
    const [all, id] = /^\/api\/v4\/(?:projects|groups)\/[^/]+\/members\/all(?:\/(\d+))?$/.exec(path) ?? [];
    if (all === undefined || !this.showsMembers) return null;
    if (id === undefined) {
      const everybody = Object.entries(this.members).map(([id, access_level]) => ({ id: Number(id), access_level }));
      return { status: 200, body: everybody };
    }
    const access_level = this.members[id];
    return access_level === undefined ? notFound : { status: 200, body: { id: Number(id), access_level } };
  }

  #all(kind: string, query: URLSearchParams): FakeResponse {
    return this.#list(
      this.items.filter((item) => item.of.startsWith(`${kind}/`)),
      query,
    );
  }

  #make({ title, description, labels }: Record<string, unknown>, username: string): FakeResponse {
    if (typeof title !== "string" || title === "") return { status: 400, body: { message: { title: ["can't be blank"] } } };
    const iid = 1 + Math.max(0, ...this.items.filter(({ of }) => of.startsWith("issues/")).map((item) => Number(item.iid)));
    const names = typeof labels === "string" ? labels.split(",") : [];
    const author = { id: 5, username, name: username };
    const item = this.add("issues", iid, new Date().toISOString(), {
      title,
      description: description ?? null,
      labels: names,
      author,
    });
    return { status: 201, body: item, wrote: true };
  }

  #change(item: Row, { state_event, ...more }: Record<string, unknown>): void {
    const now = new Date().toISOString();
    const closing = state_event === "close" ? { state: "closed", closed_at: now } : {};
    Object.assign(item, more, closing, { updated_at: now });
  }

  #list(rows: readonly Row[], query: URLSearchParams, order = "created_at"): FakeResponse {
    const [size, page] = [Number(query.get("per_page") ?? 20), Number(query.get("page") ?? 1)];
    const member = query.get("order_by") ?? order;
    const sortedRows = rows.toSorted((a, b) => String(a[member]).localeCompare(String(b[member])) || Number(a.id) - Number(b.id));
    if (query.get("sort") !== "asc" && order !== "id") sortedRows.reverse();
    const after = Date.parse(query.get("updated_after") ?? "1970-01-01");
    const all = sortedRows.filter((row) => Date.parse(row.updated_at) >= after);
    const next = page * size < all.length ? String(page + 1) : "";
    return { status: 200, body: all.slice((page - 1) * size, page * size), headers: { "x-next-page": next } };
  }
}

const notFound: FakeResponse = { status: 404, body: { message: "404 Not Found" } };

export const startTracker = (): Promise<BetaTracker> => new BetaTracker().listen();

/** Started as a process, it prints its URL as one line of JSON. */
if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename)
  console.log(JSON.stringify({ url: (await startTracker()).url }));
