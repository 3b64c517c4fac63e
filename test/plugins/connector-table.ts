import type { TestTracker } from "@signalbox/sdk/testing";
import { GiteaServer, token as giteaToken } from "../../plugins/gitea/test/server.ts";
import giteaOpened from "../../plugins/gitea/test/webhooks/issue-opened.json" with { type: "json" };
import { LinearServer, token as linearToken, newIssue } from "../../plugins/linear/test/server.ts";
import linearCreated from "../../plugins/linear/test/webhooks/issue-created.json" with { type: "json" };

/** The fake of a platform. */
export interface Platform {
  readonly server: Pick<TestTracker, "url" | "fault" | "heal" | "close">;
  /** What was posted about the issue with this number. */
  comments(issue: number): readonly string[];
}
/** A connector with what a test needs to know about its platform. */
export interface Connector {
  readonly id: string;
  readonly token: string;
  readonly event: { readonly event_name: string; readonly action: string };
  /** Header of the signature: the HMAC-SHA256 of the body in hexadecimal. */
  readonly signature: string;
  start(): Promise<Platform>;
  /** The subject of the events about the issue with this number. */
  subject(issue: number): string;
  /** The webhook that says that the issue with this number was opened. */
  opened(issue: number, delivery: string): { readonly headers: Readonly<Record<string, string>>; readonly payload: unknown };
}

const linear: Connector = {
  id: "linear",
  token: linearToken,
  event: { event_name: "Issue", action: "create" },
  signature: "linear-signature",
  start: async () => {
    const server = await new LinearServer().listen();
    for (let issue = 1; issue <= 2_000; issue++) if (issue !== 42) server.issues.push(newIssue(`id-${issue}`, issue, "Open", ""));
    return { server, comments: (issue) => server.comments({ project: "ENG", issue: `ENG-${issue}` }) };
  },
  subject: (issue) => `linear:ENG#ENG-${issue}`,
  opened: (issue, delivery) => ({
    headers: { ...linearCreated.headers, "linear-delivery": delivery },
    payload: {
      ...linearCreated.payload,
      webhookTimestamp: Date.now(),
      data: { ...linearCreated.payload.data, id: `id-${issue}`, identifier: `ENG-${issue}`, number: issue },
    },
  }),
};

const gitea: Connector = {
  id: "gitea",
  token: giteaToken,
  event: { event_name: "issues", action: "opened" },
  signature: "x-gitea-signature",
  start: async () => {
    const server = await new GiteaServer().listen();
    return { server, comments: (issue) => server.comments({ project: "octo/app", issue: String(issue) }) };
  },
  subject: (issue) => `gitea:octo/app#${issue}`,
  opened: (issue, delivery) => ({
    headers: { ...giteaOpened.headers, "x-gitea-delivery": delivery },
    payload: { ...giteaOpened.payload, number: issue, issue: { ...giteaOpened.payload.issue, number: issue } },
  }),
};

export const connectors: readonly Connector[] = [linear, gitea];
