import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ask, type Platform, type Remark } from "./platform.ts";
import { startTracker } from "./tracker.ts";

/** What the story reads of a webhook payload. */
export interface IssuePayload {
  readonly issue: {
    readonly number: number;
    readonly title: string;
    readonly body: string;
    readonly user: { readonly login: string };
  };
  readonly repository: { readonly full_name: string };
}

/** A real payload of the platform. The issue in it is that of every platform's story. */
export const issueOpened = (): IssuePayload =>
  JSON.parse(readFileSync(join(import.meta.dirname, "issue-opened.json"), "utf8")) as IssuePayload;

export async function startAlpha(): Promise<Platform> {
  const [token, secret] = [randomBytes(12).toString("hex"), randomBytes(24).toString("hex")];
  const tracker = await startTracker({ token, login: "signalbox-bot" });
  const payload = issueOpened();
  const { number, title, body, user } = payload.issue;
  const repo = payload.repository.full_name;
  const comments = `${tracker.url}/repos/${repo}/issues/${number}/comments`;
  const headers = { authorization: `Bearer ${token}` };
  const sign = (text: string) => `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`;
  return {
    ...{ source: "alpha", about: "alpha's API", url: tracker.url },
    settings: { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: token, ALPHA_WEBHOOK_SECRET: secret },
    openIssue: async () => {
      tracker.createIssue({ repo, number, title, body, login: user.login, labels: ["bug"] });
      const headersOf = (text: string, delivery: string) => ({
        "x-github-event": "issues",
        "x-github-delivery": delivery,
        "x-hub-signature-256": sign(text),
      });
      const webhook = { event: "issues.opened", payload, headers: headersOf, proof: "signed" };
      return { name: `${repo}#${number}`, by: user.login, title, webhook };
    },
    remarks: async () => {
      const found = await ask<{ body: string; user: { login: string } }[]>(comments, headers);
      return found.map((one): Remark => ({ by: one.user.login, text: one.body }));
    },
    look: () => `${comments}   (with the header "Authorization: Bearer ${token}")`,
    close: () => tracker.close(),
  };
}
