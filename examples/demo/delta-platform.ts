import { createHmac, randomBytes } from "node:crypto";
import { issueOpened } from "./alpha-platform.ts";
import { startChildTracker } from "./child-tracker.ts";
import { deltaIssueHook, deltaUser } from "./delta-payload.ts";
import { ask, type Platform } from "./platform.ts";

const workspace = "acme";
interface Page<T> {
  readonly results: readonly T[];
}
interface Made {
  readonly id: string;
  readonly created_at: string;
  readonly created_by: string;
  readonly sequence_id: number;
}
interface Comment {
  readonly comment_html: string;
  readonly actor: string;
}

const wordsOf = (html: string): string =>
  html
    .replace(/<\/(?:p|h\d|li)>/g, "\n")
    .replace(/<[^>]*>/g, "")
    .replaceAll("&#x3C;", "<")
    .replaceAll("&#x26;", "&")
    .replace(/\n\s*\n/g, "\n");

export async function startDelta(): Promise<Platform> {
  const tracker = await startChildTracker("delta");
  const [key, secret] = [`test-key-${randomBytes(6).toString("hex")}`, randomBytes(24).toString("hex")];
  const api = `${tracker.url}/api/v1/workspaces/${workspace}/projects/`;
  const headers = { "x-api-key": key };
  const { results } = await ask<Page<{ id: string; identifier: string }>>(api, headers);
  const project = results.find((one) => one.identifier === "APP")?.id ?? "";
  const states = (await ask<Page<{ id: string; name: string; group: string }>>(`${api}${project}/states/`, headers)).results;
  const issues = `${api}${project}/issues/`;
  const { title, body } = issueOpened().issue;
  let issue: Made | null = null;
  const comments = () => `${issues}${issue?.id}/comments/`;
  return {
    source: "delta",
    about: "delta's API v1",
    url: tracker.url,
    settings: { DELTA_API_URL: tracker.url, DELTA_API_KEY: key, DELTA_WORKSPACE_SLUG: workspace, DELTA_WEBHOOK_SECRET: secret },
    openIssue: async () => {
      const description_html = `<p>${body.replaceAll("\n\n", "</p><p>")}</p>`;
      issue = await ask<Made>(issues, { "x-api-key": "test-key-user-ann" }, { name: title, description_html });
      const { id, created_at, created_by } = issue;
      const state = states.find(({ group }) => group === "unstarted") ?? { id: "", name: "Todo", group: "unstarted" };
      const payload = { id, project, name: title, description_html, state, actor: deltaUser(created_by, "ann"), created_at };
      const headersOf = (text: string, delivery: string) => ({
        "x-plane-event": "issue",
        "x-plane-delivery": delivery,
        "x-plane-signature": createHmac("sha256", secret).update(text).digest("hex"),
      });
      const webhook = {
        event: "issue (created)",
        payload: deltaIssueHook(payload, "created"),
        headers: headersOf,
        proof: "signed",
      };
      return { name: `APP-${issue.sequence_id}`, by: "ann", title, webhook };
    },
    remarks: async () => {
      const found = await ask<Page<Comment>>(`${comments()}?order_by=created_at`, headers);
      return found.results.map((one) => ({
        by: one.actor === issue?.created_by ? "ann" : "signalbox",
        text: wordsOf(one.comment_html),
      }));
    },
    look: () => `${comments()}   (with the header "X-API-Key: ${key}")`,
    close: () => tracker.close(),
  };
}
