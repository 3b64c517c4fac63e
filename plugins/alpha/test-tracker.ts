import type { Subject } from "@signalbox/sdk";
import { type FakeResponse, FakeTracker, type RecordedRequest } from "@signalbox/sdk/testing";

import { Hooks } from "./test-hooks.ts";
import { PlacedComments } from "./test-places.ts";

type Row = Record<string, unknown> & { updated_at: string };

/** The part of alpha's REST API that the plugin uses, with state and faults. One repository: octo/app. */
export class AlphaTracker extends FakeTracker {
  readonly issues: Row[] = [];
  readonly notes: Row[] = [];
  readonly labels: Row[] = [];
  readonly pulls: Row[] = [];
  /** Comments elsewhere than on the issues of octo/app. */
  readonly placedComments = new PlacedComments();
  readonly hooks = new Hooks();
  /** What accounts may do in any repository, by login. */
  readonly permissions: Record<string, string> = {};
  /** Whether GET /user answers 403, as it does for an app's token. */
  app = false;

  comments = (subject: Subject): readonly string[] =>
    this.notes.filter((note) => note.issue === Number(subject.issue)).map((note) => String(note.body));

  addIssue(number: number, time: string, more: Record<string, unknown> = {}): Row {
    const html_url = `${this.url}/octo/app/issues/${number}`;
    const times = { created_at: time, updated_at: time, closed_at: null };
    const user = { login: "ann" };
    const issue = {
      id: 5000 + number,
      number,
      title: `Issue ${number}`,
      state: "open",
      body: "Text",
      html_url,
      user,
      labels: [],
      ...times,
      ...more,
    };
    this.issues.push(issue);
    return issue;
  }
  addComment(issue: number, body: string, time = new Date().toISOString(), login = "signalbox-bot"): Row {
    const id = 9_007_199_254_740_000 + this.notes.length;
    const html_url = `${this.url}/octo/app/issues/${issue}#issuecomment-${id}`;
    const issue_url = `${this.url}/repos/octo/app/issues/${issue}`;
    const note = { id, issue, issue_url, html_url, body, user: { login }, created_at: time, updated_at: time };
    this.notes.push(note);
    return note;
  }

  protected route(request: RecordedRequest): FakeResponse {
    const { method, query, body, headers } = request;
    // The platform ignores case.
    const path = request.path.replace(/^\/repos\/octo\/app(?=\/)/i, "/repos/octo/app");
    if (!/^token test-token-/.test(headers.authorization ?? "")) return { status: 401, body: { message: "Bad credentials" } };
    if (path === "/rate_limit") return { status: 200, body: { resources: {}, rate: { limit: 5000 } } };
    if (path === "/user") {
      if (this.app) return { status: 403, body: { message: "Resource not accessible by integration" } };
      return { status: 200, body: { login: "signalbox-bot", id: 1 } };
    }
    const reactionResponse = this.reacted(
      request,
      /^\/repos\/octo\/app\/issues\/(?:comments\/(\d+)|(\d+))\/reactions(?:\/(\d+))?$/,
      "content",
    );
    if (reactionResponse) return reactionResponse;
    const editResponse = this.editComment(request, /^\/repos\/octo\/app\/issues\/comments\/(\d+)$/, this.notes);
    if (editResponse) return editResponse;
    const deleteResponse = this.deleteComment(request, /^\/repos\/octo\/app\/issues\/comments\/(\d+)$/, this.notes);
    if (deleteResponse) return deleteResponse;
    const login = /^\/repos\/[^/]+\/[^/]+\/collaborators\/([^/]+)\/permission$/.exec(path)?.[1];
    if (login !== undefined) return { status: 200, body: { permission: this.permissions[login] ?? "read" } };
    const elsewhere = /^\/repos\/octo\/app\/issues\//.test(path)
      ? null
      : (this.hooks.route(request) ?? this.placedComments.route(request, this.url));
    if (elsewhere) return elsewhere;
    const match = /^\/repos\/octo\/app(\/.*)$/.exec(path);
    const [, first, number, rest] = /^\/(\w+)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(match?.[1] ?? "") ?? [];
    const issue = this.issues.find((row) => row.number === Number(number));
    if (first === "labels") return this.#label(method, query, body as Row);
    if (first === "issues" && !number && method === "POST") return this.#make(body as Row);
    if (first === "issues" && !number) return this.#page(this.issues, query);
    if (first === "issues" && number === "comments") return this.#page(this.notes, query);
    if (first === "pulls") return found(this.pulls.find((row) => row.number === Number(number)));
    if (first !== "issues" || !issue) return found(undefined);
    const notes = this.notes.filter((note) => note.issue === issue.number);
    if (rest === "comments" && method === "GET") return this.#page(notes, query);
    if (rest === "comments")
      return { status: 201, body: this.addComment(Number(number), String((body as Row).body)), wrote: true };
    if (method === "PATCH") Object.assign(issue, body, { updated_at: new Date().toISOString() });
    return { status: 200, body: { ...issue, comments: notes.length }, wrote: method === "PATCH" };
  }

  #make({ title, body }: Row): FakeResponse {
    const number = 1 + Math.max(0, ...this.issues.map((issue) => Number(issue.number)));
    const made = this.addIssue(number, new Date().toISOString(), { title, body: body ?? null, user: { login: "signalbox-bot" } });
    return { status: 201, body: made, wrote: true };
  }

  #label(method: string, query: URLSearchParams, body: Row): FakeResponse {
    if (method === "GET") return this.#page(this.labels, query);
    if (this.labels.some((label) => String(label.name).toLowerCase() === String(body.name).toLowerCase())) {
      const errors = [{ resource: "Label", code: "already_exists", field: "name" }];
      return { status: 422, body: { message: "Validation Failed", errors } };
    }
    const label = { ...body, description: body.description ?? null, url: `${this.url}/repos/octo/app/labels/${body.name}` };
    this.labels.push(label);
    return { status: 201, body: label, wrote: true };
  }

  #page(rows: readonly Row[], query: URLSearchParams): FakeResponse {
    const [size, page] = [Number(query.get("per_page") ?? 30), Number(query.get("page") ?? 1)];
    const since = Date.parse(query.get("since") ?? "1970-01-01");
    const sortedRows = query.get("sort") === "updated" ? rows.toSorted((a, b) => a.updated_at.localeCompare(b.updated_at)) : rows;
    const all = sortedRows.filter((row) => !query.has("since") || Date.parse(row.updated_at) > since);
    const last = Math.max(1, Math.ceil(all.length / size));
    const link = (relation: string, to: number) => `<${this.url}/x?per_page=${size}&page=${to}>; rel="${relation}"`;
    const links = page < last ? [link("next", page + 1), link("last", last)] : [];
    return {
      status: 200,
      body: all.slice((page - 1) * size, page * size),
      headers: links.length > 0 ? { link: links.join(", ") } : {},
    };
  }
}

const found = (row: unknown): FakeResponse =>
  row ? { status: 200, body: row } : { status: 404, body: { message: "Not Found" } };

export const startTracker = (): Promise<AlphaTracker> => new AlphaTracker().listen();
