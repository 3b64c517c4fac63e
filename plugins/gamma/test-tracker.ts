import { realpathSync } from "node:fs";
import type { Subject } from "@signalbox/sdk";
import { type FakeResponse, FakeTracker, type RecordedRequest } from "@signalbox/sdk/testing";
import { Hooks } from "./test-hooks.ts";

type Row = Record<string, unknown>;
interface Issue extends Row {
  readonly id: string;
  readonly key: string;
  readonly fields: Row & { updated: string; created: string; status: { name: string } };
  readonly histories: Row[];
}
interface Comment extends Row {
  readonly id: string;
  readonly of: string;
  readonly body: unknown;
  readonly properties: readonly Row[];
}
const status = (name: string, key: string) => ({ name, statusCategory: { key } });
const workflow = [
  { id: "11", name: "To Do", to: status("To Do", "new") },
  { id: "21", name: "Start work", to: status("In Progress", "indeterminate") },
  { id: "31", name: "Close", to: status("Done", "done") },
];
const types = [
  { id: "10003", name: "Sub-task", subtask: true },
  { id: "10001", name: "Bug", subtask: false },
  { id: "10002", name: "Task", subtask: false },
];

/** The part of gamma's REST API (version 3 of Cloud or version 2 of Server) that the plugin uses, with state. One project: APP. */
export class GammaTracker extends FakeTracker {
  readonly issues: Issue[] = [];
  readonly notes: Comment[] = [];
  readonly hooks = new Hooks();
  /** Older servers have only GET /search, Cloud only GET /search/jql. */
  searchPath = "/search/jql";
  /** Whether the account may comment in any project. */
  mayComment = true;
  /** Maximum length of a comment, as set by an administrator: `jira.text.field.character.limit`. */
  longest = 32_767;
  /** Some servers do not expand properties. */
  expands = true;
  #ids = 10_000;
  readonly #version: 2 | 3;

  constructor(version: 2 | 3 = 3) {
    super();
    this.#version = version;
  }

  comments = ({ issue }: Subject): readonly string[] =>
    this.notes
      .filter((note) => note.of === issue)
      .map((note) => (typeof note.body === "string" ? note.body : JSON.stringify(note.body)));

  privateComments = ({ issue }: Subject): readonly string[] =>
    this.notes
      .filter((note) => note.of === issue && note.properties.some(({ key }) => key === "sd.public.comment"))
      .map((note) => (typeof note.body === "string" ? note.body : JSON.stringify(note.body)));

  get user(): Row {
    return this.#version === 3
      ? { accountId: "5b10-bot", displayName: "Signalbox", emailAddress: "bot@example.com" }
      : { name: "signalbox-bot", key: "JIRAUSER1", displayName: "Signalbox" };
  }

  addIssue(key: string, time: string, more: Row = {}): Issue {
    const id = String(++this.#ids);
    const description = this.#version === 3 ? { type: "doc", version: 1, content: [] } : "Text";
    const people = { creator: this.ann, reporter: this.ann, assignee: null };
    const names = {
      issuetype: { name: "Bug" },
      priority: { name: "High" },
      status: status("To Do", "new"),
      project: { id: "1", key: "APP" },
    };
    const fields = {
      summary: `Issue ${key}`,
      description,
      labels: ["bug"],
      ...names,
      ...people,
      created: time,
      updated: time,
      ...more,
    };
    const issue: Issue = { id, key, self: `${this.url}/rest/api/${this.#version}/issue/${id}`, fields, histories: [] };
    this.issues.push(issue);
    return issue;
  }
  get ann(): Row {
    return this.#version === 3
      ? { accountId: "5b10-ann", displayName: "Ann" }
      : { name: "ann", key: "JIRAUSER2", displayName: "Ann" };
  }

  comment(
    of: string,
    body: unknown,
    author: Row = this.ann,
    properties: readonly Row[] = [],
    time = new Date().toISOString(),
  ): Comment {
    const note = { id: String(++this.#ids), of, body, author, updateAuthor: author, created: time, updated: time, properties };
    this.notes.push(note);
    return note;
  }

  protected route(request: RecordedRequest): FakeResponse {
    const { method, path, query, body, headers } = request;
    if (!/^(Basic|Bearer) \S+/.test(headers.authorization ?? ""))
      return { status: 401, body: { errorMessages: ["Log in first."] } };
    const hook = this.hooks.route(request);
    if (hook) return hook;
    const rest = path.startsWith(`/rest/api/${this.#version}`) ? path.slice(`/rest/api/${this.#version}`.length) : "";
    const writer = this.#writer(headers.authorization ?? "");
    const refusal = method === "PUT" ? this.#tooLong((body as Row).body) : null;
    if (refusal) return refusal;
    const editResponse = this.editComment(request, /\/comment\/(\d+)$/, this.notes);
    if (editResponse) return editResponse;
    const deleteResponse = this.deleteComment(request, /\/comment\/(\d+)$/, this.notes);
    if (deleteResponse) return deleteResponse;
    if (rest === "/myself") return { status: 200, body: writer };
    if (rest === "/mypermissions")
      return { status: 200, body: { permissions: { ADD_COMMENTS: { key: "ADD_COMMENTS", havePermission: this.mayComment } } } };
    if (rest === "/project/APP") return { status: 200, body: { id: "1", key: "APP", name: "App", issueTypes: types } };
    if (rest === "/issue" && method === "POST") return this.#make((body as { fields: Row }).fields, writer);
    if (rest === this.searchPath) return this.#search(query);
    const [, key = "", sub] = /^\/issue\/([\w-]+)(?:\/(\w+))?$/.exec(rest) ?? [];
    const issue = this.issues.find((one) => one.key === key || one.id === key);
    if (!issue)
      return {
        status: 404,
        body: { errorMessages: ["Issue does not exist or you do not have permission to see it."], errors: {} },
      };
    if (sub === "comment") return method === "POST" ? this.#post(issue, body as Row, writer) : this.#comments(issue, query);
    if (sub === "transitions")
      return method === "POST" ? this.#move(issue, body as Row) : { status: 200, body: { transitions: workflow } };
    if (method === "PUT") {
      Object.assign(issue.fields, (body as { fields: Row }).fields, { updated: new Date().toISOString() });
      return { status: 204, wrote: true };
    }
    return { status: 200, body: this.#shown(issue, query) };
  }

  #shown({ histories, ...issue }: Issue, query: URLSearchParams): Row {
    return query.get("expand")?.includes("changelog") ? { ...issue, changelog: { histories: histories.toReversed() } } : issue;
  }

  /** Basic credentials with Ann's email address are Ann's; all others belong to the account that posts. */
  #writer(authorization: string): Row {
    const [, basic] = /^Basic (\S+)$/.exec(authorization) ?? [];
    return basic && atob(basic).startsWith("ann@") ? this.ann : this.user;
  }

  #make({ project, issuetype, summary, description }: Row, creator: Row): FakeResponse {
    const errors = {
      ...((project as Row | null)?.key === "APP" ? {} : { project: "valid project is required" }),
      ...(types.some(({ id }) => id === (issuetype as Row | null)?.id) ? {} : { issuetype: "valid issue type is required" }),
      ...(typeof summary === "string" && summary !== "" ? {} : { summary: "You must specify a summary of the issue." }),
      ...(this.#version === 3 && (description as Row | null)?.type !== "doc"
        ? { description: "Operation value must be an Atlassian Document" }
        : {}),
    };
    if (Object.keys(errors).length > 0) return { status: 400, body: { errorMessages: [], errors } };
    const number = 1 + Math.max(0, ...this.issues.map(({ key }) => Number(key.slice(4))));
    const type = types.find(({ id }) => id === (issuetype as Row).id);
    const requestFields = { summary, description, issuetype: type, creator, reporter: creator, labels: [] };
    const issue = this.addIssue(`APP-${number}`, new Date().toISOString(), requestFields);
    return { status: 201, body: { id: issue.id, key: issue.key, self: issue.self }, wrote: true };
  }

  #post(issue: Issue, { body, properties }: Row, writer: Row): FakeResponse {
    if (this.#version === 3 && (body as Row | null)?.type !== "doc")
      return { status: 400, body: { errorMessages: [], errors: { comment: "INVALID_INPUT" } } };
    if (this.#version === 2 && typeof body !== "string") return { status: 400, body: { errorMessages: ["Can not deserialize"] } };
    const tooLong = this.#tooLong(body);
    if (tooLong) return tooLong;
    const made = this.comment(issue.key, body, writer, (properties ?? []) as Row[]);
    return { status: 201, body: made, wrote: true };
  }

  #tooLong(body: unknown): FakeResponse | null {
    const texts = (json: string) => [...json.matchAll(/"text":"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text).join("");
    const text = typeof body === "string" ? body : texts(JSON.stringify(body) ?? "");
    if (text.length <= this.longest) return null;
    const limit = this.longest.toLocaleString("en");
    const comment = `The entered text is too long. It exceeds the allowed limit of ${limit} characters.`;
    return { status: 400, body: { errorMessages: [], errors: { comment } } };
  }

  #comments(issue: Issue, query: URLSearchParams): FakeResponse {
    const [start, size] = [Number(query.get("startAt") ?? 0), Number(query.get("maxResults") ?? 50)];
    const all = this.notes.filter((note) => note.of === issue.key).toSorted((a, b) => Number(a.id) - Number(b.id));
    if (query.get("orderBy") === "-created") all.reverse();
    const isExpanded = this.expands && query.get("expand")?.includes("properties");
    const comments = all
      .slice(start, start + size)
      .map(({ properties, ...note }) => (isExpanded ? { ...note, properties } : note));
    return { status: 200, body: { startAt: start, maxResults: size, total: all.length, comments } };
  }

  #move(issue: Issue, body: Row): FakeResponse {
    const found = workflow.find((one) => one.id === (body.transition as Row).id);
    if (!found)
      return { status: 400, body: { errorMessages: ["It seems that you have tried to perform an illegal workflow operation."] } };
    this.change(issue, "status", issue.fields.status.name, found.to.name, this.user, body.historyMetadata);
    issue.fields.status = found.to;
    return { status: 204, wrote: true };
  }

  change(issue: Issue, field: string, from: string, to: string, author: Row = this.ann, historyMetadata?: unknown): void {
    const createdAt = new Date().toISOString();
    const items = [{ field, fieldtype: "jira", from: "1", fromString: from, to: "2", toString: to }];
    issue.histories.push({
      id: String(++this.#ids),
      author,
      created: createdAt,
      items,
      ...(historyMetadata ? { historyMetadata } : {}),
    });
    issue.fields.updated = createdAt;
  }

  #search(query: URLSearchParams): FakeResponse {
    const jql = query.get("jql") ?? "";
    const match = /^project = "?(\w+)"? AND updated >= "?-(\d+)m"? ORDER BY updated ASC/i.exec(jql);
    if (match?.[1] !== "APP") return { status: 400, body: { errorMessages: [`Error in the JQL Query: ${jql}`] } };
    const since = Date.now() - Number(match[2]) * 60_000;
    const all = this.issues
      .filter((issue) => Date.parse(issue.fields.updated) >= since)
      .toSorted((a, b) => a.fields.updated.localeCompare(b.fields.updated));
    const start = Number(query.get("nextPageToken") ?? query.get("startAt") ?? 0);
    const size = Number(query.get("maxResults") ?? 50);
    const issues = all.slice(start, start + size).map((issue) => this.#shown(issue, query));
    const more = start + size < all.length;
    if (this.searchPath === "/search")
      return { status: 200, body: { startAt: start, maxResults: size, total: all.length, issues } };
    return { status: 200, body: { issues, isLast: !more, ...(more ? { nextPageToken: String(start + size) } : {}) } };
  }
}

export const startTracker = (version: 2 | 3 = 3): Promise<GammaTracker> => new GammaTracker(version).listen();

/** Started as a process, it prints its URL as one line of JSON. */
if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename)
  console.log(JSON.stringify({ url: (await startTracker(process.argv.includes("--server") ? 2 : 3)).url }));
