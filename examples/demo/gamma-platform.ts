import { createHmac, randomBytes } from "node:crypto";
import { issueOpened } from "./alpha-platform.ts";
import { startChildTracker } from "./child-tracker.ts";
import { gammaIssueHook, gammaUser } from "./gamma-payload.ts";
import { ask, type Platform } from "./platform.ts";

const project = "APP";
interface Node {
  readonly type?: string;
  readonly text?: string;
  readonly content?: readonly Node[];
}
interface Comments {
  readonly comments: readonly { readonly body: Node; readonly author: { readonly displayName: string } }[];
}

/** The text of a document, with one line per block. */
const wordsOf = (node: Node): string =>
  node.text ?? (node.content ?? []).map(wordsOf).join(/^(doc|bulletList|listItem)$/.test(node.type ?? "") ? "\n" : "");

const basic = (email: string, secret: string) => ({ authorization: `Basic ${btoa(`${email}:${secret}`)}` });

export async function startGamma(): Promise<Platform> {
  const tracker = await startChildTracker("gamma");
  const [token, secret] = [randomBytes(12).toString("hex"), randomBytes(24).toString("hex")];
  const issues = `${tracker.url}/rest/api/3/issue`;
  const { title, body } = issueOpened().issue;
  const email = "signalbox@example.com";
  let key = "";
  const comments = () => `${issues}/${key}/comment`;
  return {
    source: "gamma",
    about: "gamma's API v3",
    url: tracker.url,
    settings: { GAMMA_URL: tracker.url, GAMMA_EMAIL: email, GAMMA_API_TOKEN: token, GAMMA_WEBHOOK_SECRET: secret },
    openIssue: async () => {
      const content = body.split("\n\n").map((text) => ({ type: "paragraph", content: [{ type: "text", text }] }));
      const description = { type: "doc", version: 1, content };
      const fields = { project: { key: project }, issuetype: { id: "10001" }, summary: title, description };
      const made = await ask<{ id: string; key: string }>(issues, basic("ann@example.com", "t"), { fields });
      key = made.key;
      const creator = gammaUser("5b10-ann", "Ann");
      const webhookIssue = { ...made, summary: title, description: body.replace(/^#+ /gm, "h3. "), creator };
      const payload = gammaIssueHook("jira:issue_created", { ...webhookIssue, created: new Date().toISOString() });
      const headers = (text: string, delivery: string) => ({
        "x-atlassian-webhook-identifier": delivery,
        "x-hub-signature": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
      });
      return { name: key, by: "Ann", title, webhook: { event: "jira:issue_created", payload, headers, proof: "signed" } };
    },
    remarks: async () => {
      const found = await ask<Comments>(comments(), basic(email, token));
      return found.comments.map((one) => ({ by: one.author.displayName, text: wordsOf(one.body) }));
    },
    look: () => `${comments()}   (as ${email} with the password ${token})`,
    close: () => tracker.close(),
  };
}
