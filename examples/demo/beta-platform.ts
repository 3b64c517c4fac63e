import { randomBytes } from "node:crypto";
import { issueOpened } from "./alpha-platform.ts";
import { betaIssueHook } from "./beta-payload.ts";
import { startChildTracker } from "./child-tracker.ts";
import { ask, type Platform } from "./platform.ts";

const project = "octo/team/app";
interface Made {
  readonly iid: number;
  readonly created_at: string;
}
interface Note {
  readonly body: string;
  readonly author: { readonly username: string };
}

export async function startBeta(): Promise<Platform> {
  const tracker = await startChildTracker("beta");
  const [token, secret] = [`test-token-${randomBytes(6).toString("hex")}`, randomBytes(24).toString("hex")];
  const issues = `${tracker.url}/api/v4/projects/${encodeURIComponent(project)}/issues`;
  const { title, body, user } = issueOpened().issue;
  const username = user.login.replace("-", "_");
  let iid = 0;
  const notes = () => `${issues}/${iid}/notes?sort=asc`;
  return {
    source: "beta",
    about: "beta's API v4",
    url: tracker.url,
    settings: { BETA_URL: tracker.url, BETA_TOKEN: token, BETA_WEBHOOK_SECRET: secret },
    openIssue: async () => {
      const author = { authorization: `Bearer test-token-user-${username}` };
      const made = await ask<Made>(issues, author, { title, description: body, labels: "bug" });
      iid = made.iid;
      const { created_at } = made;
      const payload = betaIssueHook({ project, iid, title, description: body, username, created_at }, "open");
      const headers = (_: string, delivery: string) => ({
        "x-gitlab-event": "Issue Hook",
        "x-gitlab-event-uuid": delivery,
        "x-gitlab-token": secret,
      });
      const webhook = { event: "Issue Hook (open)", payload, headers, proof: "with its token" };
      return { name: `${project}#${iid}`, by: username, title, webhook };
    },
    remarks: async () => {
      const found = await ask<Note[]>(notes(), { authorization: `Bearer ${token}` });
      return found.map((one) => ({ by: one.author.username, text: one.body }));
    },
    look: () => `${notes()}   (with the header "Authorization: Bearer ${token}")`,
    close: () => tracker.close(),
  };
}
