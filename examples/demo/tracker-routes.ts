import { type Context, Hono } from "hono";
import { invalid, Refusal, refusalResponse } from "./refusal.ts";
import { repositoryShape } from "./repository-shape.ts";
import { page, since, sortItems } from "./tracker-lists.ts";
import type { Reactions } from "./tracker-reactions.ts";
import { accountShape, commentShape, issueShape, labelShape, rateLimitShape } from "./tracker-shapes.ts";
import { type Comment, type Issue, now, type Repository, type TrackerStore } from "./tracker-store.ts";

interface TrackerSettings {
  readonly store: TrackerStore;
  /** Own URL; known once it listens. */
  readonly base: () => string;
  /** Default: every request is accepted. */
  readonly token: string | null;
  /** The account that the token belongs to. */
  readonly login: string;
  readonly reactions: Reactions;
  /** Requests so far. */
  readonly served: () => number;
}

/** The part of the platform's REST API that Signalbox and its tests use. */
export function trackerRoutes(settings: TrackerSettings): Hono {
  const app = new Hono();
  app.use((c, next) => {
    const token = c.req.header("authorization")?.replace(/^(?:bearer|token) /i, "");
    if (settings.token === null || token === settings.token) return next();
    throw new Refusal(401, token ? "Bad credentials" : "Requires authentication");
  });
  app.notFound(() => refusalResponse(new Refusal(404, "Not Found")));
  app.onError((error) => (error instanceof Refusal ? refusalResponse(error) : refusalResponse(new Refusal(400, String(error)))));
  app.get("/user", (c) => c.json(accountShape(settings.base(), settings.login)));
  app.get("/rate_limit", (c) => c.json(rateLimitShape(settings.served())));
  addRepositoryRoutes(app, settings);
  addIssueRoutes(app, settings);
  addCommentRoutes(app, settings);
  settings.reactions.addRoutes(app, settings.base, settings.login);
  return app;
}

function addRepositoryRoutes(app: Hono, { store, base }: TrackerSettings): void {
  const hooks = new Map<Repository, object[]>();
  const hooksOf = (repo: Repository) => hooks.get(repo) ?? [];
  app.get("/repos/:owner/:repo/hooks", (c) => c.json(hooksOf(repoOf(store, c))));
  app.post("/repos/:owner/:repo/hooks", async (c) => {
    const repo = repoOf(store, c);
    const { events = ["push"], active = true, config } = await bodyOf(c);
    if (typeof config !== "object" || config === null || !("url" in config)) throw invalid("Hook", "missing_field", "config");
    // The platform does not show a secret again.
    const hook = { type: "Repository", id: hooksOf(repo).length + 1, name: "web", active, events, config: { url: config.url } };
    hooks.set(repo, [...hooksOf(repo), hook]);
    return c.json(hook, 201);
  });
  app.get("/repos/:owner/:repo", (c) => c.json(repositoryShape(base(), repoOf(store, c))));
  app.get("/repos/:owner/:repo/labels", (c) => {
    const repo = repoOf(store, c);
    return page(c, [...repo.labels.values()], base, (label) => labelShape(base(), repo, label));
  });
  app.get("/repos/:owner/:repo/labels/:name", (c) => {
    const repo = repoOf(store, c);
    const label = repo.labels.get(c.req.param("name").toLowerCase());
    if (!label) throw new Refusal(404, "Not Found");
    return c.json(labelShape(base(), repo, label));
  });
  app.post("/repos/:owner/:repo/labels", async (c) => {
    const repo = repoOf(store, c);
    const { name, color = "ededed", description = null } = await bodyOf(c);
    if (typeof name !== "string" || name.trim() === "") throw invalid("Label", "missing_field", "name");
    if (typeof color !== "string" || !/^[0-9a-f]{6}$/i.test(color)) throw invalid("Label", "invalid", "color");
    const label = store.addLabel(repo, name, color, description === null ? null : String(description));
    if (!label) throw invalid("Label", "already_exists", "name");
    return c.json(labelShape(base(), repo, label), 201);
  });
}

function addIssueRoutes(app: Hono, { store, base, login }: TrackerSettings): void {
  app.get("/repos/:owner/:repo/issues", (c) => {
    const repo = repoOf(store, c);
    const state = c.req.query("state") ?? "open";
    const labels = (c.req.query("labels") ?? "").toLowerCase().split(",").filter(Boolean);
    const matches = [...repo.issues.values()].filter(
      (issue) =>
        (state === "all" || issue.state === state) &&
        labels.every((label) => issue.labels.some((own) => own.toLowerCase() === label)) &&
        since(c, issue.updatedAt),
    );
    return page(
      c,
      sortItems(c, matches, "desc", (issue) => issue.comments.length),
      base,
      (issue) => issueShape(base(), repo, issue),
    );
  });
  app.post("/repos/:owner/:repo/issues", async (c) => {
    const repo = repoOf(store, c);
    const { title, body, labels } = await bodyOf(c);
    if (typeof title !== "string" || title.trim() === "") throw invalid("Issue", "missing_field", "title");
    const issue = store.createIssue({
      repo: `${repo.owner}/${repo.name}`,
      title,
      login,
      body: textOf(body),
      labels: Array.isArray(labels) ? labels.map(labelName) : [],
    });
    return c.json(issueShape(base(), repo, issue), 201, {
      location: `${base()}/repos/${repo.owner}/${repo.name}/issues/${issue.number}`,
    });
  });
  app.get("/repos/:owner/:repo/issues/:number{[0-9]+}", (c) => {
    const { repo, issue } = issueOf(store, c);
    return c.json(issueShape(base(), repo, issue));
  });
  app.patch("/repos/:owner/:repo/issues/:number{[0-9]+}", async (c) => {
    const { repo, issue } = issueOf(store, c);
    change(issue, await bodyOf(c));
    return c.json(issueShape(base(), repo, issue));
  });
}

function addCommentRoutes(app: Hono, { store, base, login }: TrackerSettings): void {
  app.get("/repos/:owner/:repo/issues/comments", (c) => {
    const repo = repoOf(store, c);
    const all = [...repo.issues.values()].flatMap((issue) => issue.comments.map((comment) => ({ ...comment, comment, issue })));
    const matches = all.filter((entry) => since(c, entry.updatedAt));
    return page(c, sortItems(c, matches, "asc"), base, (entry) => commentShape(base(), repo, entry.issue, entry.comment));
  });
  const oneComment = "/repos/:owner/:repo/issues/comments/:id{[0-9]+}";
  app.get(oneComment, (c) => {
    const { repo, issue, comment } = commentOf(store, c);
    return c.json(commentShape(base(), repo, issue, comment));
  });
  app.patch(oneComment, async (c) => {
    const { repo, issue, comment } = commentOf(store, c);
    comment.body = textOf((await bodyOf(c)).body) ?? "";
    comment.updatedAt = now();
    return c.json(commentShape(base(), repo, issue, comment));
  });
  app.delete(oneComment, (c) => {
    const { issue, comment } = commentOf(store, c);
    issue.comments.splice(issue.comments.indexOf(comment), 1);
    return c.body(null, 204);
  });
  app.get("/repos/:owner/:repo/issues/:number{[0-9]+}/comments", (c) => {
    const { repo, issue } = issueOf(store, c);
    const matches = issue.comments.filter((comment) => since(c, comment.updatedAt));
    return page(c, matches, base, (comment) => commentShape(base(), repo, issue, comment));
  });
  app.post("/repos/:owner/:repo/issues/:number{[0-9]+}/comments", async (c) => {
    const { repo, issue } = issueOf(store, c);
    const { body } = await bodyOf(c);
    if (issue.locked) throw new Refusal(403, "Unable to create comment because issue is locked.");
    if (typeof body !== "string") throw new Refusal(422, 'Invalid request.\n\n"body" wasn\'t supplied.');
    if (body.trim() === "") throw invalid("IssueComment", "missing_field", "body");
    const comment = store.addComment(issue, textOf(body) ?? "", login);
    const shape = commentShape(base(), repo, issue, comment);
    return c.json(shape, 201, { location: shape.url });
  });
}

function change(issue: Issue, fields: Record<string, unknown>): void {
  if ("title" in fields) {
    if (typeof fields.title !== "string" || fields.title.trim() === "") throw invalid("Issue", "missing_field", "title");
    issue.title = fields.title;
  }
  if ("body" in fields) issue.body = textOf(fields.body);
  if (Array.isArray(fields.labels)) issue.labels = fields.labels.map(labelName);
  if ("state" in fields && fields.state !== issue.state) {
    if (fields.state !== "open" && fields.state !== "closed") throw invalid("Issue", "invalid", "state");
    issue.state = fields.state;
    issue.closedAt = fields.state === "closed" ? now() : null;
    issue.stateReason =
      fields.state === "closed" ? (fields.state_reason === "not_planned" ? "not_planned" : "completed") : "reopened";
  }
  issue.updatedAt = now();
}

function repoOf(store: TrackerStore, c: Context): Repository {
  const repo = store.repository(c.req.param("owner") ?? "", c.req.param("repo") ?? "");
  if (!repo) throw new Refusal(404, "Not Found");
  return repo;
}

function commentOf(store: TrackerStore, c: Context): { repo: Repository; issue: Issue; comment: Comment } {
  const repo = repoOf(store, c);
  for (const issue of repo.issues.values()) {
    const comment = issue.comments.find((one) => one.id === Number(c.req.param("id")));
    if (comment) return { repo, issue, comment };
  }
  throw new Refusal(404, "Not Found");
}

function issueOf(store: TrackerStore, c: Context): { repo: Repository; issue: Issue } {
  const repo = repoOf(store, c);
  const issue = store.issue(repo, Number(c.req.param("number")));
  if (!issue) throw new Refusal(404, "Not Found");
  return { repo, issue };
}

async function bodyOf(c: Context): Promise<Record<string, unknown>> {
  const body: unknown = await c.req.json().catch(() => {
    throw new Refusal(400, "Problems parsing JSON");
  });
  if (typeof body !== "object" || body === null || Array.isArray(body)) throw new Refusal(400, "Body should be a JSON object");
  return body as Record<string, unknown>;
}

/** Text of an issue or a comment; the platform accepts 65,536 characters. */
function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const text = String(value);
  if (text.length > 65_536) {
    throw new Refusal(422, "Validation Failed", [
      { resource: "Issue", code: "custom", field: "body", message: "body is too long (maximum is 65536 characters)" },
    ]);
  }
  return text;
}

const labelName = (label: unknown): string => (typeof label === "string" ? label : String((label as { name?: unknown }).name));
