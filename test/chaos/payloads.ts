import { createHmac } from "node:crypto";
import { betaIssueHook } from "../../examples/demo/beta-payload.ts";
import { deltaIssueHook, deltaUser } from "../../examples/demo/delta-payload.ts";
import { gammaIssueHook, gammaUser } from "../../examples/demo/gamma-payload.ts";
import { project as deltaProject, people, states } from "../../plugins/delta/test-tracker.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";

export const sources = ["alpha", "beta", "gamma", "delta"] as const;
export type Source = (typeof sources)[number];

export const secret = "chaos-webhook-secret";
export const deltaIssue = (number: number): string => `0c6d9f12-52b5-4f0e-9d2f-${String(number).padStart(12, "0")}`;

/** A webhook in the format of its platform: a new issue whose title names the delivery. */
export interface Webhook {
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const at = "2026-01-05T10:00:00Z";
const ann = gammaUser("5b10-ann", "Ann");
const hmac = (body: string) => createHmac("sha256", secret).update(body).digest("hex");

const payloads: Readonly<Record<Source, (issue: number, title: string) => object>> = {
  alpha: (number, title) => issueOpened({ repo: "octo/app", number, title, body: "It fails since Monday." }),
  beta: (iid, title) =>
    betaIssueHook(
      { project: "octo/team/app", iid, title, description: "It fails since Monday.", username: "ann", created_at: at },
      "open",
    ),
  gamma: (number, summary) =>
    gammaIssueHook("jira:issue_created", {
      key: `APP-${number}`,
      id: `10${number}`,
      summary,
      description: "It fails since Monday.",
      creator: ann,
      created: at,
    }),
  delta: (number, name) =>
    deltaIssueHook(
      {
        id: deltaIssue(number),
        project: deltaProject,
        name,
        description_html: "<p>It fails since Monday.</p>",
        state: { id: states.todo, name: "Todo", group: "unstarted" },
        actor: deltaUser(people.ann, "ann"),
        created_at: at,
      },
      "created",
    ),
};

/** The platforms' own headers. When a platform repeats a delivery, it repeats its id. */
const headers: Readonly<Record<Source, (id: string, body: string) => Record<string, string>>> = {
  alpha: (id, body) => ({
    "x-github-event": "issues",
    "x-github-delivery": id,
    "x-hub-signature-256": `sha256=${hmac(body)}`,
  }),
  beta: (id) => ({ "x-gitlab-event": "Issue Hook", "x-gitlab-event-uuid": id, "x-gitlab-token": secret }),
  gamma: (id, body) => ({ "x-atlassian-webhook-identifier": id, "x-hub-signature": `sha256=${hmac(body)}` }),
  delta: (id, body) => ({ "x-plane-event": "issue", "x-plane-delivery": id, "x-plane-signature": hmac(body) }),
};

export function webhookOf(source: Source, issue: number, title: string, delivery: string): Webhook {
  const body = JSON.stringify(payloads[source](issue, title));
  const own = { "content-type": "application/json", ...headers[source](delivery, body) };
  return { path: `/webhook/${source}`, body, headers: own };
}
