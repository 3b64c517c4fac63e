import { randomUUID } from "node:crypto";
import type { ReactionTarget, Subject } from "@signalbox/sdk";
import { type FakeResponse, FakeServer, type RecordedRequest, type TestTracker } from "@signalbox/sdk/testing";

export const token = "linear-test-token";
export const viewer = { id: "8c1f1b0e-2f5a-4c1e-9d5b-0c7d7b6a5e01", name: "Signalbox", displayName: "signalbox" };
export const ann = { id: "1b4e28ba-2fa1-41d2-883f-0016d3cca427", name: "Ann Lee", displayName: "ann" };

type Data = Record<string, unknown>;
interface Comment extends Data {
  readonly id: string;
  body: string;
  readonly issueId: string;
}
interface Issue extends Data {
  readonly id: string;
  readonly identifier: string;
  title: string;
  description: string;
  stateId: string;
  labelIds: string[];
}
interface Reaction {
  readonly id: string;
  readonly emoji: string;
  readonly on: string;
  readonly user: { readonly id: string };
}
interface Hook extends Data {
  readonly id: string;
  resourceTypes: string[];
  enabled: boolean;
}

const states = [
  { id: "st-todo", name: "Todo", type: "unstarted", position: 1 },
  { id: "st-doing", name: "In Progress", type: "started", position: 2 },
  { id: "st-done", name: "Done", type: "completed", position: 3 },
];
const labels = [
  { id: "lb-bug", name: "Bug" },
  { id: "lb-docs", name: "Docs" },
];
const team = { id: "tm-eng", key: "ENG", name: "Engineering" };

/** An error as Linear answers it: 200 or 400, with a code in `extensions`. */
export const failure = (message: string, code: string, status = 200): FakeResponse => ({
  status,
  body: { data: null, errors: [{ message, extensions: { code, type: code.toLowerCase(), userPresentableMessage: message } }] },
});

/** The part of Linear's GraphQL API that the plugin uses, by the names of its operations. */
export class LinearServer extends FakeServer implements TestTracker {
  readonly all: Comment[] = [];
  readonly issues: Issue[] = [newIssue("0e2a1b3c-0000-4000-8000-000000000042", 42, "Login fails", "It says **500**.")];
  readonly hooks: Hook[] = [];
  readonly users: Data[] = [{ ...ann, active: true, admin: false, guest: false, app: false }];
  readonly #reactions: Reaction[] = [];
  /** Of each answer without errors. */
  headers: Readonly<Record<string, string>> = {};

  comments = ({ issue }: Subject): string[] =>
    this.all.filter(({ issueId }) => issueId === this.#issue(issue)?.id).map(({ body }) => body);
  reactions = ({ subject, comment }: ReactionTarget): string[] =>
    this.#reactions.filter(({ on }) => on === (comment ?? this.#issue(subject.issue)?.id)).map(({ emoji }) => emoji);

  protected override readsOnly({ body }: RecordedRequest): boolean {
    return !/^\s*mutation/.test(String((body as Data | undefined)?.query));
  }

  protected route(request: RecordedRequest): FakeResponse {
    const { path, headers, body } = request;
    if (path !== "/graphql") return { status: 404, body: {} };
    if (headers.authorization !== `Bearer ${token}`) return failure("Authentication required", "AUTHENTICATION_ERROR", 401);
    const { operationName = "", variables = {} } = body as { operationName?: string; variables?: Data };
    const answer = operations[operationName]?.(this, variables as never);
    if (!answer) return failure(`no operation ${operationName}`, "GRAPHQL_VALIDATION_FAILED", 400);
    if ("status" in answer) return answer as unknown as FakeResponse;
    return { status: 200, headers: this.headers, body: { data: answer }, wrote: !this.readsOnly(request) };
  }

  /** By its id or its identifier. */
  #issue(id: unknown): Issue | undefined {
    return this.issues.find((one) => one.id === id || one.identifier === id);
  }
  issueOr404(id: unknown): Issue | FakeResponse {
    return this.#issue(id) ?? notFound("Issue");
  }
  commentShown = (one: Comment) => ({
    ...one,
    url: `${this.url}/acme/issue/${this.#issue(one.issueId)?.identifier}#comment-${one.id}`,
  });
  issueShown = (one: Issue) => ({
    ...one,
    url: `${this.url}/acme/issue/${one.identifier}`,
    team,
    creator: ann,
    assignee: null,
    state: states.find(({ id }) => id === one.stateId),
    labels: { nodes: labels.filter(({ id }) => one.labelIds.includes(id)) },
  });
  reactionsOn = (on: string) => this.#reactions.filter((one) => one.on === on);
  addReaction({ emoji, issueId, commentId }: Data): void {
    const on = String(commentId ?? this.#issue(issueId)?.id);
    if (this.reactionsOn(on).some((one) => one.emoji === emoji)) return;
    this.#reactions.push({ id: randomUUID(), emoji: String(emoji), on, user: { id: viewer.id } });
  }
  removeReaction(id: unknown): boolean {
    const at = this.#reactions.findIndex((one) => one.id === id);
    if (at >= 0) this.#reactions.splice(at, 1);
    return at >= 0;
  }
}

const notFound = (entity: string): FakeResponse => failure(`Entity not found: ${entity}`, "INPUT_ERROR", 400);

export function newIssue(id: string, number: number, title: string, description: string): Issue {
  const now = new Date().toISOString();
  const times = { createdAt: now, updatedAt: now };
  return {
    id,
    identifier: `ENG-${number}`,
    number,
    title,
    description,
    stateId: "st-todo",
    labelIds: ["lb-bug"],
    ...times,
  };
}

type Operation = (server: LinearServer, variables: never) => Data | FakeResponse;
const isIssue = (found: Issue | FakeResponse): found is Issue => "identifier" in found;
const noMore = { hasNextPage: false, endCursor: null };

/** Answers by the names of the documents. */
const operations: Readonly<Record<string, Operation>> = {
  Account: () => ({ viewer }),
  StandingOfUser: ({ users }, { id }: { id: string }) => ({ users: { nodes: users.filter((one) => one.id === id) } }),
  ReadIssue: (server, { id }: { id: string }) => {
    const found = server.issueOr404(id);
    return isIssue(found) ? { issue: server.issueShown(found) } : found;
  },
  AddComment: (server, { input }: { input: { id: string; issueId: string; body: string; parentId?: string } }) => {
    const issue = server.issueOr404(input.issueId);
    if (!isIssue(issue)) return issue;
    if (server.all.some(({ id }) => id === input.id)) return failure("Comment with this id already exists", "INPUT_ERROR", 400);
    if (input.parentId === "deleted") return notFound("Comment");
    const times = { createdAt: new Date().toISOString(), updatedAt: new Date().toISOString() };
    const made = { id: input.id, body: input.body, issueId: issue.id, parentId: input.parentId ?? null, user: viewer, ...times };
    server.all.push(made);
    return { commentCreate: { success: true, comment: server.commentShown(made) } };
  },
  EditComment: (server, { id, input }: { id: string; input: { body: string } }) => {
    const found = server.all.find((one) => one.id === id);
    if (!found) return notFound("Comment");
    found.body = input.body;
    return { commentUpdate: { success: true, comment: server.commentShown(found) } };
  },
  RemoveComment: (server, { id }: { id: string }) => {
    const at = server.all.findIndex((one) => one.id === id);
    if (at < 0) return notFound("Comment");
    server.all.splice(at, 1);
    return { commentDelete: { success: true } };
  },
  CommentById: (server, { id }: { id: string }) => ({
    comments: { nodes: server.all.filter((one) => one.id === id).map(server.commentShown) },
  }),
  CommentsOfIssue: (server, { issue }: { issue: string }) => {
    const found = server.issueOr404(issue);
    if (!isIssue(found)) return found;
    const nodes = server.all.filter(({ issueId }) => issueId === found.id).map(server.commentShown);
    return { issue: { comments: { nodes: nodes.reverse(), pageInfo: { hasPreviousPage: false, startCursor: null } } } };
  },
  CreateIssue: (server, { input }: { input: { id: string; teamId: string; title: string; description: string } }) => {
    if (server.issues.some(({ id }) => id === input.id)) return failure("Issue with this id already exists", "INPUT_ERROR", 400);
    const made = newIssue(input.id, 42 + server.issues.length, input.title, input.description);
    server.issues.push(made);
    return { issueCreate: { success: true, issue: server.issueShown(made) } };
  },
  IssueById: (server, { id }: { id: string }) => ({
    issues: { nodes: server.issues.filter((one) => one.id === id).map(server.issueShown) },
  }),
  TeamByKey: (_, { key }: { key: string }) => ({ teams: { nodes: key === team.key ? [team] : [] } }),
  StatesOfIssue: (server, { id }: { id: string }) => {
    const found = server.issueOr404(id);
    return isIssue(found) ? { issue: { team: { states: { nodes: states } } } } : found;
  },
  UpdateIssue: (server, { id, input }: { id: string; input: Data }) => {
    const found = server.issueOr404(id);
    if (!isIssue(found)) return found;
    const {
      addedLabelIds = [],
      removedLabelIds = [],
      ...rest
    } = input as { addedLabelIds?: string[]; removedLabelIds?: string[] };
    const keptLabelIds = [...new Set([...found.labelIds, ...addedLabelIds])].filter((label) => !removedLabelIds.includes(label));
    Object.assign(found, rest, { labelIds: keptLabelIds, updatedAt: new Date().toISOString() });
    return { issueUpdate: { success: true, issue: server.issueShown(found) } };
  },
  LabelsByName: (_, { filter }: { filter: { and: [{ name: { in: string[] } }] } }) => ({
    issueLabels: { nodes: labels.filter(({ name }) => filter.and[0].name.in.includes(name)) },
  }),
  SearchIssues: (server, { term }: { term: string }) => ({
    searchIssues: { nodes: server.issues.filter(({ title }) => title.includes(term)).map(server.issueShown) },
  }),
  ReactionsOfIssue: (server, { id }: { id: string }) => {
    const found = server.issueOr404(id);
    return isIssue(found) ? { issue: { reactions: server.reactionsOn(found.id) } } : found;
  },
  ReactionsOfComment: (server, { id }: { id: string }) => ({ comment: { reactions: server.reactionsOn(id) } }),
  AddReaction: (server, { input }: { input: Data }) => {
    server.addReaction(input);
    return { reactionCreate: { success: true } };
  },
  RemoveReaction: (server, { id }: { id: string }) =>
    server.removeReaction(id) ? { reactionDelete: { success: true } } : notFound("Reaction"),
  ChangedIssues: (server, { filter }: { filter: { updatedAt: { gte: string } } }) => {
    const nodes = server.issues.filter(({ updatedAt }) => String(updatedAt) >= filter.updatedAt.gte).map(server.issueShown);
    return { issues: { nodes: nodes.map((one) => ({ ...one, history: { nodes: [] } })), pageInfo: noMore } };
  },
  NewComments: (server, { filter }: { filter: { createdAt: { gte: string } } }) => {
    const found = server.all.filter(({ createdAt }) => String(createdAt) >= filter.createdAt.gte);
    const nodes = found.map((one) => {
      const issue = server.issues.find(({ id }) => id === one.issueId) as Issue;
      return { ...server.commentShown(one), issue: server.issueShown(issue), parent: null, externalUser: null };
    });
    return { comments: { nodes, pageInfo: noMore } };
  },
  Webhooks: ({ hooks }) => ({ webhooks: { nodes: hooks } }),
  CreateWebhook: ({ hooks }, { input }: { input: Data }) => {
    const made = { id: randomUUID(), team: null, ...input } as unknown as Hook;
    hooks.push(made);
    return { webhookCreate: { success: true, webhook: made } };
  },
  UpdateWebhook: ({ hooks }, { id, input }: { id: string; input: Data }) => {
    const found = hooks.find((one) => one.id === id);
    if (!found) return notFound("Webhook");
    return { webhookUpdate: { success: true, webhook: Object.assign(found, input) } };
  },
};
