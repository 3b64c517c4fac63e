import { createHmac, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ask, type Platform, type Remark, type Station } from "./platform.ts";
import { startTracker, type Tracker } from "./tracker.ts";

/** The members of a webhook payload that the story uses. */
interface IssuePayload {
  readonly issue: {
    readonly number: number;
    readonly title: string;
    readonly body: string;
    readonly user: { readonly login: string };
  };
  readonly repository: { readonly full_name: string };
}

/** A real payload of the platform. Every platform's story uses its issue. */
export const issueOpened = (): IssuePayload =>
  JSON.parse(readFileSync(join(import.meta.dirname, "issue-opened.json"), "utf8")) as IssuePayload;

export async function startAlpha(): Promise<Platform> {
  const [token, secret] = [randomBytes(12).toString("hex"), randomBytes(24).toString("hex")];
  const tracker = await startTracker({ token, login: "signalbox-bot", autoCreate: true });
  const payload = issueOpened();
  const { number, title, body, user } = payload.issue;
  const repo = payload.repository.full_name;
  const comments = (name = `${repo}#${number}`) => `${tracker.url}/repos/${name.replace("#", "/issues/")}/comments`;
  const headersOf = (text: string, delivery: string) => ({
    "x-github-event": "issues",
    "x-github-delivery": delivery,
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
  });
  const webhookOf = (action: string, about: object) => ({
    event: `issues.${action}`,
    headers: headersOf,
    proof: "signed",
    payload: { ...about, action },
  });
  return {
    source: "alpha",
    about: "alpha's API",
    url: tracker.url,
    settings: { ALPHA_API_URL: tracker.url, ALPHA_TOKEN: token, ALPHA_WEBHOOK_SECRET: secret },
    openIssue: async () => {
      tracker.createIssue({ repo, number, title, body, login: user.login, labels: ["bug"] });
      return { name: `${repo}#${number}`, by: user.login, title, webhook: webhookOf("opened", payload) };
    },
    move: async (name, to) => {
      const move = moveIssue(tracker, payload, name, to);
      return { name, by: user.login, title: move.issue.title, webhook: webhookOf(move.action, move) };
    },
    remarks: async (name) => {
      const found = await ask<{ body: string; user: { login: string } }[]>(comments(name), { authorization: `Bearer ${token}` });
      return found.map((one): Remark => ({ by: one.user.login, text: one.body }));
    },
    look: () => `${comments()}   (with the header "Authorization: Bearer ${token}")`,
    close: () => tracker.close(),
  };
}

/** Labels or closes an issue in the tracker and returns the webhook about it. */
function moveIssue(tracker: Tracker, example: IssuePayload, name: string, to: Station) {
  const [repo = "", number = ""] = name.split("#");
  const there = tracker.issue(repo, Number(number));
  if (!there) throw new Error(`The tracker has no issue ${name}`);
  if (to === "closed") there.state = "closed";
  else there.labels.push(to);
  const { title, body, state } = there;
  const issue = {
    ...example.issue,
    number: there.number,
    title,
    body,
    state,
    labels: there.labels.map((label) => ({ name: label })),
  };
  const repository = { ...example.repository, full_name: repo };
  return { ...example, action: to === "closed" ? "closed" : "labeled", issue, repository, label: { name: to } };
}
