import type { Subject } from "@signalbox/sdk";
import { type FakeResponse, FakeTracker, type RecordedRequest } from "@signalbox/sdk/testing";

export const token = "gitea-test-token";
export const bot = { id: 9, login: "signalbox" };

interface Comment extends Record<string, unknown> {
  readonly id: number;
  body: string;
  readonly html_url: string;
  readonly issue: number;
}
interface Issue extends Record<string, unknown> {
  readonly number: number;
  labels: { id: number; name: string }[];
}
interface Hook extends Record<string, unknown> {
  readonly id: number;
  events: string[];
  active: boolean;
}
const labels = [
  { id: 1, name: "bug" },
  { id: 2, name: "docs" },
];

/** The part of Gitea's API that the plugin uses, for the repository octo/app. Every issue exists. */
export class GiteaServer extends FakeTracker {
  readonly all: Comment[] = [];
  readonly issues = new Map<number, Issue>();
  readonly hooks: Hook[] = [];
  /** What accounts may do, by their login. */
  readonly permissions = new Map<string, string>();
  isPrivate = false;
  /** Of the answer that names the account. */
  headers: Readonly<Record<string, string>> = {};

  constructor() {
    super();
    this.issue(7);
  }

  comments({ issue }: Subject): string[] {
    return this.all.filter((one) => one.issue === Number(issue)).map(({ body }) => body);
  }
  issue(number: number): Issue {
    const knownIssue = this.issues.get(number);
    if (knownIssue) return knownIssue;
    const now = new Date().toISOString();
    const times = { created_at: now, updated_at: now, closed_at: null };
    const made = { number, title: "Login fails", body: "It says 500.", state: "open", user: { id: 5, login: "ann" }, ...times };
    this.issues.set(number, { ...made, labels: [labels[0] as (typeof labels)[0]] });
    return this.issues.get(number) as Issue;
  }

  protected route(request: RecordedRequest): FakeResponse {
    const { path, headers } = request;
    if (headers.authorization !== `token ${token}`)
      return { status: 401, body: { message: "invalid username, password or token" } };
    if (path === "/api/v1/user") return { status: 200, headers: this.headers, body: bot };
    const pattern = /\/issues\/(?:comments\/(\d+)|(\d+))\/reactions(?:\/(\d+))?$/;
    return (
      this.reacted(request, pattern, "content", bot) ??
      this.editComment(request, /\/issues\/comments\/(\d+)$/, this.all) ??
      this.deleteComment(request, /\/issues\/comments\/(\d+)$/, this.all) ??
      this.#repository(request) ?? { status: 404, body: { message: "not found" } }
    );
  }

  #repository({ method, path, query, body }: RecordedRequest): FakeResponse | null {
    const [, rest] = /^\/api\/v1\/repos\/octo\/app(\/.*)?$/.exec(path) ?? [];
    if (path === "/api/v1/repos/octo/app") return { status: 200, body: { full_name: "octo/app", private: this.isPrivate } };
    if (rest === undefined) return null;
    if (rest === "/labels") return { status: 200, body: labels };
    const permission = /^\/collaborators\/([^/]+)\/permission$/.exec(rest)?.[1];
    if (permission) return { status: 200, body: { permission: this.permissions.get(permission) ?? "none" } };
    if (rest.startsWith("/hooks")) return this.#hook(method, Number(rest.split("/")[2]), body as Hook);
    if (rest === "/issues/comments") return { status: 200, body: query.get("page") === "1" ? this.#commentsSince(query) : [] };
    if (rest === "/issues") return method === "POST" ? this.#create(body as Record<string, unknown>) : this.#list(query);
    const [, number, member, id] = /^\/issues\/(\d+)(?:\/(comments|labels)(?:\/(\d+))?)?$/.exec(rest) ?? [];
    if (number === undefined) return null;
    const issue = this.issue(Number(number));
    if (member === "comments") return this.#commentsOf(method, issue, body as Comment);
    if (member === "labels") return this.#label(method, issue, id, body as { labels: number[] });
    if (method !== "PATCH") return { status: 200, body: this.#shown(issue) };
    Object.assign(issue, body, { updated_at: new Date().toISOString() });
    return { status: 201, body: this.#shown(issue), wrote: true };
  }

  #shown = (issue: Issue) => ({ ...issue, html_url: `${this.url}/octo/app/issues/${issue.number}` });

  #list(query: URLSearchParams): FakeResponse {
    const since = Date.parse(query.get("since") ?? "1970-01-01");
    const found = [...this.issues.values()].filter(({ updated_at }) => Date.parse(String(updated_at)) >= since);
    return { status: 200, body: (query.get("page") ?? "1") === "1" ? found.map(this.#shown) : [] };
  }
  #create(fields: Record<string, unknown>): FakeResponse {
    const made = Object.assign(this.issue(100 + this.issues.size), fields, { labels: [] });
    return { status: 201, body: this.#shown(made), wrote: true };
  }
  #commentsSince(query: URLSearchParams): Comment[] {
    return this.all.filter(({ created_at }) => Date.parse(String(created_at)) >= Date.parse(query.get("since") ?? ""));
  }
  #commentsOf(method: string, { number }: Issue, { body }: Comment = {} as Comment): FakeResponse {
    if (method === "GET") return { status: 200, body: this.all.filter(({ issue }) => issue === number) };
    const id = (this.all.at(-1)?.id ?? 0) + 1;
    const now = new Date().toISOString();
    const html_url = `${this.url}/octo/app/issues/${number}#issuecomment-${id}`;
    const issue_url = `${this.url}/octo/app/issues/${number}`;
    const made = { id, body, html_url, issue_url, issue: number, user: bot, created_at: now, updated_at: now };
    this.all.push(made);
    return { status: 201, body: made, wrote: true };
  }
  #label(method: string, issue: Issue, id: string | undefined, fields: { labels: number[] }): FakeResponse {
    const addedLabels = method === "POST" ? labels.filter((label) => fields.labels.includes(label.id)) : [];
    issue.labels = [...issue.labels.filter((label) => String(label.id) !== id), ...addedLabels];
    return { status: method === "DELETE" ? 204 : 200, body: method === "DELETE" ? undefined : issue.labels, wrote: true };
  }
  #hook(method: string, id: number, fields: Hook): FakeResponse {
    if (method === "GET") return { status: 200, body: this.hooks };
    const knownHook = this.hooks.find((hook) => hook.id === id);
    if (knownHook) return { status: 200, body: Object.assign(knownHook, fields), wrote: true };
    this.hooks.push({ ...fields, id: this.hooks.length + 1 });
    return { status: 201, body: this.hooks.at(-1), wrote: true };
  }
}
