import { realpathSync } from "node:fs";
import { parseArgs } from "node:util";
import type { ActiveFault, FaultRule } from "./faults.ts";
import { type LoopbackServer, type Received, startLoopback } from "./loopback-server.ts";
import { Reactions } from "./tracker-reactions.ts";
import { trackerRoutes } from "./tracker-routes.ts";
import { rateLimitShape } from "./tracker-shapes.ts";
import { type Comment, type Issue, type NewIssue, TrackerStore } from "./tracker-store.ts";

interface TrackerOptions {
  readonly port?: number;
  /** Token that every request must have. Default: none. */
  readonly token?: string;
  /** The account that posts through the API. Default: `signalbox-bot`. */
  readonly login?: string;
  /** Whether requests create unknown repositories and issues. */
  readonly autoCreate?: boolean;
  /** Delay before each request is carried out. Milliseconds. */
  readonly delayMs?: number;
}

/** alpha's REST API on loopback, with state in memory. */
export interface Tracker {
  readonly url: string;
  readonly login: string;
  /** Received requests, newest last. */
  readonly requests: Received[];
  delayMs: number;
  /** Scopes of the token, as the platform reports them for classic tokens; `null`: it reports none. */
  scopes: string | null;
  /** `repo` is `owner/name`. */
  createIssue(issue: NewIssue): Issue;
  issue(repo: string, number: number): Issue | null;
  comments(repo: string, number: number): readonly Comment[];
  /** Adds a comment as a person would, not through the API. */
  comment(repo: string, number: number, body: string, login: string): Comment;
  /** Contents of the reactions of the account that posts, on an issue, or on a comment by its id. */
  reactions(repo: string, on: { readonly issue: number } | { readonly comment: number | string }): readonly string[];
  fault(rule: FaultRule): ActiveFault;
  clearFaults(): void;
  close(): Promise<void>;
}

export async function startTracker(options: TrackerOptions = {}): Promise<Tracker> {
  const store = new TrackerStore({ autoCreate: options.autoCreate ?? false });
  const reactions = new Reactions();
  const login = options.login ?? "signalbox-bot";
  let server: LoopbackServer | null = null;
  let tracker: LoopbackTracker | null = null;
  let requestCount = 0;
  const routes = trackerRoutes({
    store,
    login,
    reactions,
    token: options.token ?? null,
    base: () => server?.url ?? "",
    served: () => requestCount,
  });
  server = await startLoopback({
    ...(options.port === undefined ? {} : { port: options.port }),
    handler: (request) => routes.fetch(request),
    headers: () => ({
      ...rateHeaders(++requestCount),
      ...(tracker?.scopes == null ? {} : { "x-oauth-scopes": tracker.scopes }),
    }),
    errorBody: (status, how) => ({
      message:
        how === "limit"
          ? "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
          : `Status ${status}`,
      documentation_url: "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api",
    }),
  });
  server.delayMs = options.delayMs ?? 0;
  tracker = new LoopbackTracker(server, store, reactions, login);
  addControls(server, tracker);
  return tracker;
}

function rateHeaders(requestCount: number): Record<string, string> {
  const { limit, remaining, used, reset } = rateLimitShape(requestCount).rate;
  return {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-used": String(used),
    "x-ratelimit-reset": String(reset),
    "x-ratelimit-resource": "core",
    "x-github-media-type": "github.v3; format=json",
  };
}

class LoopbackTracker implements Tracker {
  readonly #server: LoopbackServer;
  readonly #store: TrackerStore;
  readonly #reactions: Reactions;
  readonly login: string;
  scopes: string | null = null;

  constructor(server: LoopbackServer, store: TrackerStore, reactions: Reactions, login: string) {
    this.#server = server;
    this.#store = store;
    this.#reactions = reactions;
    this.login = login;
  }
  get url(): string {
    return this.#server.url;
  }
  get requests(): Received[] {
    return this.#server.requests;
  }
  get delayMs(): number {
    return this.#server.delayMs;
  }
  set delayMs(ms: number) {
    this.#server.delayMs = ms;
  }
  createIssue(issue: NewIssue): Issue {
    return this.#store.createIssue(issue);
  }
  issue(repo: string, number: number): Issue | null {
    return this.#store.ensure(repo).issues.get(number) ?? null;
  }
  comments(repo: string, number: number): readonly Comment[] {
    return this.issue(repo, number)?.comments ?? [];
  }
  comment(repo: string, number: number, body: string, login: string): Comment {
    const issue = this.#store.issue(this.#store.ensure(repo), number);
    if (!issue) throw new Error(`issue ${repo}#${number} does not exist in the tracker`);
    return this.#store.addComment(issue, body, login);
  }
  reactions(repo: string, on: { readonly issue: number } | { readonly comment: number | string }): readonly string[] {
    return this.#reactions.on("issue" in on ? `${repo} issues/${on.issue}` : `${repo} comments/${on.comment}`);
  }
  fault(rule: FaultRule): ActiveFault {
    return this.#server.faults.add(rule);
  }
  clearFaults(): void {
    this.#server.faults.clear();
  }
  close(): Promise<void> {
    return this.#server.close();
  }
}

/** The same from another process: `GET /_control/comments?repo=octo/app&issue=1`, `GET | POST /_control/issues`. */
function addControls({ control }: LoopbackServer, tracker: Tracker): void {
  control.get("/comments", (c) => c.json(tracker.comments(c.req.query("repo") ?? "", Number(c.req.query("issue")))));
  control.get("/issues", (c) => c.json(tracker.issue(c.req.query("repo") ?? "", Number(c.req.query("issue")))));
  control.post("/issues", async (c) => c.json(tracker.createIssue(await c.req.json<NewIssue>()), 201));
  control.onError((error, c) => c.json({ error: error.message }, 400));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "0" },
      token: { type: "string" },
      login: { type: "string" },
      delay: { type: "string", default: "0" },
      "auto-create": { type: "boolean", default: false },
    },
  });
  const tracker = await startTracker({
    port: Number(values.port),
    delayMs: Number(values.delay),
    autoCreate: values["auto-create"],
    ...(values.token === undefined ? {} : { token: values.token }),
    ...(values.login === undefined ? {} : { login: values.login }),
  });
  console.log(JSON.stringify({ url: tracker.url }));
}

if (process.argv[1] && realpathSync(process.argv[1]) === import.meta.filename) await main();
