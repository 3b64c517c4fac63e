import { createHmac, randomUUID } from "node:crypto";
import { project as deltaProject } from "../../plugins/delta/test-tracker.ts";
import * as alpha from "./alpha-payloads.ts";
import * as beta from "./beta-payloads.ts";
import * as delta from "./delta-payloads.ts";
import * as gamma from "./gamma-payloads.ts";

/** The payload table's entry for one event and action; `number` sets a separate issue. */
export interface Row {
  readonly source: "alpha" | "beta" | "gamma" | "delta";
  readonly event: string;
  readonly action: string | null;
  readonly payload: (number: number) => object;
  /** Parts of the text that the model reads. */
  readonly reads: readonly (string | RegExp)[];
}

export const secret = "webhook-secret-5f0c";
export const repo = "octo/app";
export const betaProject = "octo/team/app";
export const deltaIssue = (number: number) => `0c6d9f12-52b5-4f0e-9d2f-${String(number).padStart(12, "0")}`;
const anyPayload = (event: string, action: string) => (number: number) => {
  const member = event === "pull_request" ? "pull_request" : "issue";
  // The collection has no edited pull request.
  const collected =
    event === "pull_request" && action === "edited"
      ? { ...alpha.example(event, "opened"), action, changes: { title: { from: "Login" } } }
      : alpha.example(event, action);
  const subject = { ...(collected[member] as object), number, title: "Login fails", user: { login: "mona" } };
  const repository = { ...(collected.repository as object), full_name: repo, name: "app" };
  return { ...collected, [member]: subject, repository, sender: { login: "mona" } };
};

/** The collection has no reopened issue. */
const reopened = (number: number) =>
  alpha.issueOpened(
    { repo, number },
    { action: "reopened", issue: { state: "open", state_reason: "reopened", closed_at: null } },
  );

export const rows: readonly Row[] = [
  ...["opened", "edited", "closed", "reopened", "labeled", "unlabeled"].map((action): Row => {
    const closed = (number: number) => alpha.issueClosed({ repo, number });
    const payload = action === "closed" ? closed : action === "reopened" ? reopened : anyPayload("issues", action);
    return { source: "alpha", event: "issues", action, payload, reads: ["Login fails"] };
  }),
  ...["opened", "edited", "closed", "reopened", "ready_for_review", "synchronize"].map((action): Row => {
    const payload = anyPayload("pull_request", action);
    return { source: "alpha", event: "pull_request", action, payload, reads: ["# Pull request #", "Login fails"] };
  }),
  {
    source: "alpha",
    event: "issue_comment",
    action: "created",
    reads: ["Any news?", "by mona"],
    payload: (number) => alpha.issueCommented({ repo, number, comment: "Any news?" }),
  },
  {
    source: "beta",
    event: "Issue Hook",
    action: "open",
    reads: ["Login fails", "It **fails** since Monday."],
    payload: (iid) => beta.issueOpened(betaProject, iid),
  },
  {
    source: "beta",
    event: "Issue Hook",
    action: "close",
    reads: ["State: closed"],
    payload: (iid) => beta.issueClosed(betaProject, iid),
  },
  {
    source: "beta",
    event: "Issue Hook",
    action: "reopen",
    reads: ["State: opened"],
    payload: (iid) => beta.issueReopened(betaProject, iid),
  },
  {
    source: "beta",
    event: "Issue Hook",
    action: "update",
    reads: ["labels: bug → bug, backend"],
    payload: (iid) => beta.issueLabeled(betaProject, iid),
  },
  {
    source: "beta",
    event: "Merge Request Hook",
    action: "open",
    reads: ["From: fix-login", "Into: main"],
    payload: (iid) => beta.mergeRequestOpened(betaProject, iid),
  },
  {
    source: "gamma",
    event: "gamma:issue_created",
    action: null,
    reads: ["Login fails", "Priority: High", "It **fails** since", "1. Monday"],
    payload: (number) => gamma.issueCreated(`APP-${number}`),
  },
  {
    source: "gamma",
    event: "gamma:issue_updated",
    action: null,
    reads: ["status: To Do → In Progress"],
    payload: (number) => gamma.issueMoved(`APP-${number}`),
  },
  {
    source: "gamma",
    event: "comment_created",
    action: null,
    reads: ["Any **news** on this?", "by Ann"],
    payload: (number) => gamma.commentCreated(`APP-${number}`),
  },
  {
    source: "delta",
    event: "issue.created",
    action: null,
    reads: ["Login fails", "It **fails** since Monday.", "State: Todo"],
    payload: (number) => delta.issueCreated(deltaProject, deltaIssue(number)),
  },
  {
    source: "delta",
    event: "issue.updated",
    action: null,
    reads: ["state: Todo → Done"],
    payload: (number) => delta.issueMoved(deltaProject, deltaIssue(number), "Todo", "Done"),
  },
  {
    source: "delta",
    event: "issue.activity.created",
    action: null,
    reads: ["Any *news* on this?"],
    payload: (number) => delta.commented(deltaProject, deltaIssue(number)),
  },
];

const hmac = (body: string) => createHmac("sha256", secret).update(body).digest("hex");
/** The platforms' own headers, as they send them. */
export const headersOf: Readonly<Record<Row["source"], (row: Row, body: string) => Record<string, string>>> = {
  alpha: ({ event }, body) => ({
    "x-github-event": event,
    "x-github-delivery": randomUUID(),
    "x-hub-signature-256": `sha256=${hmac(body)}`,
  }),
  beta: ({ event }) => ({ "x-gitlab-event": event, "x-gitlab-event-uuid": randomUUID(), "x-gitlab-token": secret }),
  gamma: (_, body) => ({ "x-atlassian-webhook-identifier": randomUUID(), "x-hub-signature": `sha256=${hmac(body)}` }),
  delta: ({ event }, body) => ({
    "x-plane-event": event.startsWith("issue.activity") ? "issue_comment" : "issue",
    "x-plane-delivery": randomUUID(),
    "x-plane-signature": hmac(body),
  }),
};

/** The prompt's description of the subject. */
export function subjectOf({ source, event, number }: Row & { readonly number: number }): string {
  if (source === "alpha") return `about alpha:${repo}#${number}.`;
  if (source === "beta") return `about beta:${betaProject}#${event === "Merge Request Hook" ? "!" : ""}${number}.`;
  if (source === "gamma") return `about gamma:APP#APP-${number}.`;
  return `about delta:${deltaProject}#${deltaIssue(number)}.`;
}
