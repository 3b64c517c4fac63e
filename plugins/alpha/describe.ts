import type { Subject } from "@signalbox/sdk";
import { type SubjectDetails, stringAt, valueAt } from "@signalbox/sdk";
import { addressOf } from "./address.ts";
import type { Client } from "./client.ts";
import * as shapes from "./shapes.ts";

const runs = ["check_run", "check_suite", "workflow_run"];

/**
 * Whether the payload is missing facts that people see on an issue or pull request. The payload of a run contains only the number
 * of its pull request.
 */
export function isIncomplete(payload: unknown): boolean {
  const item = [valueAt(payload, "pull_request"), valueAt(payload, "issue")].find((one) => one !== undefined);
  if (item === undefined) return runs.some((name) => valueAt(payload, name) !== undefined);
  const known = [["title"], ["state"], ["user", "login"], ["html_url"]].map((path) => stringAt(item, path));
  return known.includes(null) || !Array.isArray(valueAt(item, "labels"));
}

/** Reads an issue or pull request. */
export async function describe(client: Client, { project, issue }: Subject, signal: AbortSignal): Promise<SubjectDetails> {
  const route = "GET /repos/{owner}/{repo}/issues/{issue_number}";
  const { data } = await client.read(route, { ...addressOf(issue, project) }, shapes.issue, signal);
  return {
    title: data.title ?? null,
    state: data.state ?? null,
    labels: (data.labels ?? []).flatMap((label) => (typeof label === "string" ? label : (label.name ?? []))),
    author: data.user?.login ?? null,
    url: data.html_url ?? null,
  };
}
