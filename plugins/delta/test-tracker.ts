import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import type { Subject } from "@signalbox/sdk";
import { type FakeResponse, FakeTracker, type RecordedRequest } from "@signalbox/sdk/testing";

type Row = Record<string, unknown> & { id: string };

export const workspace = "acme";
export const project = "8a2f6f0e-3b7e-4c57-9f6b-1f0d9c6f7a10";
export const issue = "0c6d9f12-52b5-4f0e-9d2f-6c1c2c7b3e01";
export const states = {
  todo: "11111111-0000-4000-8000-000000000001",
  doing: "11111111-0000-4000-8000-000000000002",
  done: "11111111-0000-4000-8000-000000000003",
};
export const labels = { bug: "33333333-0000-4000-8000-000000000001" };
const groups = { todo: "unstarted", doing: "started", done: "completed" };
export const people = { bot: "22222222-0000-4000-8000-000000000001", ann: "22222222-0000-4000-8000-000000000002" };

const listedStates = Object.entries(states).map(([name, id]) => ({ id, name, group: groups[name as keyof typeof groups] }));
const members = [
  { id: people.ann, display_name: "ann", role: 20 },
  { id: people.bot, display_name: "signalbox", role: 15 },
];

/** The part of delta's REST API v1 that the plugin uses, with state. One workspace and one project with issues. */
export class DeltaTracker extends FakeTracker {
  readonly issues: Row[] = [];
  readonly notes: (Row & { issue: string })[] = [];
  readonly activities: (Row & { issue: string })[] = [];
  readonly hooks: Row[] = [];
  hasHooks = true;
  /** Whether the account is no administrator of the workspace. */
  hidesHooks = false;
  /** Older servers have no GET /users/me/. */
  tellsAccount = true;
  /** The project has a public board. */
  isPublished = false;
  /** Every id is that of the one project. */
  isOneProject = false;
  /** Older servers have no activities. */
  tellsActivities = true;

  comments = (subject: Subject): readonly string[] =>
    this.notes.filter((note) => note.issue === subject.issue).map((note) => String(note.comment_html));

  privateComments = (subject: Subject): readonly string[] =>
    this.notes
      .filter((note) => note.issue === subject.issue && note.access === "INTERNAL")
      .map((note) => String(note.comment_html));

  addIssue(id: string, time: string, more: Record<string, unknown> = {}): Row {
    const people_ = { created_by: people.ann, updated_by: people.ann };
    const texts = { name: `Issue ${id.slice(0, 4)}`, description_html: "<p>Text</p>", priority: "high", state: states.todo };
    const row = {
      id,
      project,
      sequence_id: this.issues.length + 1,
      ...texts,
      ...people_,
      labels: [],
      created_at: time,
      updated_at: time,
      ...more,
    };
    this.issues.push(row);
    return row;
  }

  note(of: string, body: Record<string, unknown>, actor = people.ann, time = new Date().toISOString()): Row {
    const note = { ...body, id: randomUUID(), issue: of, project, actor, created_by: actor, created_at: time, updated_at: time };
    this.notes.push(note);
    this.#happened(of, { field: "comment", verb: "created", new_value: body.comment_html }, actor, time);
    return note;
  }

  /** Changes an issue and records an activity, which contains names of states, not ids. */
  change(
    of: string,
    field: string,
    old_value: string,
    new_value: string,
    actor = people.ann,
    time = new Date().toISOString(),
  ): void {
    const issue = this.issues.find(({ id }) => id === of);
    if (field === "state" && issue) issue.state = states[new_value as keyof typeof states];
    this.#happened(of, { field, verb: "updated", old_value, new_value }, actor, time);
  }

  /** Every change of an issue moves its `updated_at`. */
  #happened(of: string, what: Record<string, unknown>, actor: string, time: string): void {
    this.activities.push({ ...what, id: randomUUID(), issue: of, project, actor, created_at: time, updated_at: time });
    const issue = this.issues.find(({ id }) => id === of);
    if (issue && String(issue.updated_at) < time) Object.assign(issue, { updated_at: time, updated_by: actor });
  }

  protected route(request: RecordedRequest): FakeResponse {
    const { method, path, query, body, headers } = request;
    const key = String(headers["x-api-key"] ?? "");
    const writer = key.startsWith("test-key-user-") ? people.ann : people.bot;
    if (!key.startsWith("test-key-")) return { status: 401, body: { error: "Given API token is not valid" } };
    if (path === "/api/v1/users/me/" && this.tellsAccount)
      return { status: 200, body: { id: writer, display_name: writer === people.bot ? "signalbox" : "ann" } };
    const hook = this.#hook(request);
    if (hook) return hook;
    const editResponse = this.editComment(request, /\/comments\/([\w-]+)\/$/, this.notes);
    if (editResponse) return editResponse;
    const deleteResponse = this.deleteComment(request, /\/comments\/([\w-]+)\/$/, this.notes);
    if (deleteResponse) return deleteResponse;
    if (path === `/api/v1/workspaces/${workspace}/members/`) return { status: 200, body: members };
    const base = `/api/v1/workspaces/${workspace}/projects/`;
    if (path === base)
      return this.#list(
        [
          ...(this.isOneProject ? [] : [{ id: randomUUID(), name: "Other", identifier: "OTHER" }]),
          { id: project, name: "The app", identifier: "APP" },
        ],
        query,
      );
    const [, id, rest = ""] = new RegExp(`^${base}([\\w-]+)/(.*)$`).exec(path) ?? [];
    if (id !== project && !this.isOneProject)
      return id && rest ? { status: 403, body: { detail: "You do not have permission" } } : notFound;
    if (id && rest === "") return { status: 200, body: this.#project };
    const rows = { "states/": listedStates, "labels/": [{ id: labels.bug, name: "bug" }] }[rest];
    if (rows) return this.#list(rows, query);
    if (rest === "issues/" && method === "POST") return this.#make(body as Record<string, unknown>, writer);
    if (rest === "issues/") return this.#list(this.issues, query);
    const [, at, sub] = /^issues\/([\w-]+)\/(comments\/|activities\/)?$/.exec(rest) ?? [];
    const found = this.issues.find((one) => one.id === at);
    if (!found) return notFound;
    if (sub === "activities/" && !this.tellsActivities) return notFound;
    if (sub === "activities/")
      return this.#list(
        this.activities.filter((one) => one.issue === at),
        query,
      );
    if (sub)
      return method === "POST"
        ? this.#post(found, body as Record<string, unknown>, writer)
        : this.#list(
            this.notes.filter((note) => note.issue === at),
            query,
          );
    if (method === "PATCH") Object.assign(found, body, { updated_at: new Date().toISOString(), updated_by: writer });
    return { status: 200, body: found, wrote: method === "PATCH" };
  }

  get #project() {
    return { id: project, name: "The app", identifier: "APP", is_deployed: this.isPublished };
  }

  /** Webhooks of the workspace: version 2 of the API, which self-hosted servers do not have. */
  #hook({ method, path, body }: RecordedRequest): FakeResponse | null {
    const match = new RegExp(`^/api/v2/workspaces/${workspace}/webhooks/(?:([\\w-]+)/)?$`).exec(path);
    if (!match || !this.hasHooks) return null;
    if (this.hidesHooks) return { status: 403, body: { code: "forbidden" } };
    if (method === "GET") return this.#list(this.hooks, new URLSearchParams());
    if (method === "POST") {
      this.hooks.push({ id: randomUUID(), is_active: true, version: "v2", ...(body as object) });
      return { status: 201, body: this.hooks.at(-1), wrote: true };
    }
    const found = this.hooks.find(({ id }) => id === match[1]);
    return found ? { status: 200, body: Object.assign(found, body), wrote: true } : notFound;
  }

  #make({ name, description_html }: Record<string, unknown>, writer: string): FakeResponse {
    if (typeof name !== "string" || name === "") return { status: 400, body: { name: ["This field is required."] } };
    const own = {
      name,
      description_html: description_html ?? "<p></p>",
      priority: "none",
      created_by: writer,
      updated_by: writer,
    };
    return { status: 201, body: this.addIssue(randomUUID(), new Date().toISOString(), own), wrote: true };
  }

  #post(of: Row, body: Record<string, unknown>, writer: string): FakeResponse {
    const there = this.notes.find((note) => body.external_id && note.external_id === body.external_id && note.issue === of.id);
    if (there)
      return {
        status: 409,
        body: { error: "Comment with the same external id and external source already exists", id: there.id },
      };
    return { status: 201, body: this.note(of.id, body, writer), wrote: true };
  }

  #list(rows: readonly Record<string, unknown>[], query: URLSearchParams): FakeResponse {
    const size = Number(query.get("per_page") ?? 100);
    const page = Number(/^\d+:(\d+):0$/.exec(query.get("cursor") ?? "")?.[1] ?? 0);
    const order = query.get("order_by") ?? "-created_at";
    const member = order.replace("-", "");
    const sortedRows = rows.toSorted((a, b) => String(a[member] ?? "").localeCompare(String(b[member] ?? "")));
    if (order.startsWith("-")) sortedRows.reverse();
    const more = (page + 1) * size < sortedRows.length;
    const results = sortedRows.slice(page * size, (page + 1) * size);
    return {
      status: 200,
      body: {
        results,
        count: results.length,
        total_count: rows.length,
        next_cursor: `${size}:${page + 1}:0`,
        next_page_results: more,
      },
    };
  }
}

const notFound: FakeResponse = { status: 404, body: { detail: "Not found." } };

export const startTracker = (): Promise<DeltaTracker> => new DeltaTracker().listen();

/** Started as a process, it prints its URL as one line of JSON. */
if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename)
  console.log(JSON.stringify({ url: (await startTracker()).url }));
