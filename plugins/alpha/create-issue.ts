import { ifCode, type NewIssue, sanitizeText, truncate } from "@signalbox/sdk";
import { addressOf, repositoryOf } from "./address.ts";
import type { Client } from "./client.ts";
import { maxCommentLength } from "./comments.ts";
import { payloadOf } from "./payload.ts";
import { issueUrl } from "./read-issue.ts";
import * as shapes from "./shapes.ts";

const createdIssue = shapes.changedIssue.required({ number: true }).loose();

/** Creates an issue and returns its creation as the webhook will report it. */
export async function createIssue(client: Client, { project, title, body }: NewIssue, signal: AbortSignal) {
  const repository = repositoryOf(project);
  const text = { title: truncate(sanitizeText(title), 256), body: truncate(sanitizeText(body), maxCommentLength) };
  const { data } = await client.write("POST /repos/{owner}/{repo}/issues", { ...repository, ...text }, createdIssue, signal);
  const full_name = `${repository.owner}/${repository.repo}`;
  const created = {
    action: "opened",
    issue: { ...text, state: "open", ...data },
    repository: { full_name },
    sender: data.user ?? null,
  };
  const payload = payloadOf(created);
  const url = issueUrl(client, { ...repository, issue_number: data.number }, data);
  return { key: `${full_name}#${data.number}`, url, event: { headers: { "x-alpha-event": "issues" }, payload } };
}

/** A deleted issue counts as closed. */
export async function closeIssue(client: Client, { project, key }: { project: string; key: string }, signal: AbortSignal) {
  const route = "PATCH /repos/{owner}/{repo}/issues/{issue_number}";
  const parameters = { ...addressOf(key, project), state: "closed" };
  await client.write(route, parameters, shapes.changedIssue, signal).catch(ifCode("not_found", null));
}
