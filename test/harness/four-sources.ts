import { startTracker as startAlpha } from "../../examples/demo/tracker.ts";
import { project as deltaProject } from "../../plugins/delta/test-tracker.ts";
import * as alpha from "./alpha-payloads.ts";
import * as beta from "./beta-payloads.ts";
import * as delta from "./delta-payloads.ts";
import * as gamma from "./gamma-payloads.ts";
import { betaProject, deltaIssue, repo } from "./payload-table.ts";
import type { Service } from "./service.ts";
import { startTrackers, trackersEnv } from "./trackers.ts";
import { waitForExecutions } from "./wait.ts";

export const sources = ["alpha", "beta", "gamma", "delta"] as const;
export type Source = (typeof sources)[number];

/** The stateful trackers of all four platforms, on loopback. */
export type FourTrackers = Awaited<ReturnType<typeof startFour>>;

export const startFour = async () => ({ alpha: await startAlpha({ autoCreate: true }), ...(await startTrackers()) });

/** Variables with their addresses for a service. */
export const fourEnv = (trackers: FourTrackers, token: string): Record<string, string> => ({
  ALPHA_API_URL: trackers.alpha.url,
  ALPHA_TOKEN: token,
  ...trackersEnv(trackers),
});

/** Closes the trackers, then the others in turn. Some are missing if the start of a test failed. */
export async function closeFour(
  trackers: FourTrackers | undefined,
  ...others: readonly ({ close(): Promise<void> } | undefined)[]
): Promise<void> {
  for (const one of [...Object.values(trackers ?? {}), ...others]) await one?.close();
}

/** Seeds agents and source mappings, and lets the triggers start the task `look` of the agent `pm_default`. Default: new issues. */
export async function seedLook(service: Service, triggers: readonly string[] = ["issue.created"]): Promise<void> {
  for (const seed of ["agents/seed", "tasks/sources/seed"]) await service.post(`/api/${seed}`);
  await service.post("/api/tasks", { id: "look", name: "Look", description: "Look.", actor_id: "pm_default" });
  for (const canonical_trigger of triggers) await service.post("/api/tasks/triggers", { canonical_trigger, task_id: "look" });
}

/** A new issue, with the webhook about it. */
export interface NewIssue {
  readonly payload: object;
  readonly headers: Readonly<Record<string, string>>;
  /** The issue in the form that tools use. */
  readonly issue: string;
  readonly project: string;
  /** Its comments, as the platform stores them. */
  comments(): readonly string[];
}

/** Creates an issue with this text at a tracker. `at`: when. */
export function newIssue(
  trackers: FourTrackers,
  source: Source,
  n: number,
  text: string,
  at = new Date().toISOString(),
): NewIssue {
  if (source === "alpha") {
    trackers.alpha.createIssue({ repo, number: n, title: "Login fails", body: text, createdAt: at });
    const payload = alpha.issueOpened({ repo, number: n }, { issue: { body: text } });
    const comments = () => trackers.alpha.comments(repo, n).map(({ body }) => body);
    return { payload, comments, headers: { "x-github-event": "issues" }, issue: String(n), project: repo };
  }
  if (source === "beta") {
    trackers.beta.add("issues", n, at);
    const payload = beta.issueOpened(betaProject, n);
    payload.object_attributes.description = text;
    const headers = { "x-gitlab-event": "Issue Hook", "x-gitlab-token": "test-token-1" };
    const comments = () => trackers.beta.comments({ project: betaProject, issue: String(n) });
    return { payload, comments, headers, issue: String(n), project: betaProject };
  }
  if (source === "gamma") {
    const issue = `APP-${n}`;
    trackers.gamma.addIssue(issue, at);
    const payload = gamma.issueCreated(issue);
    Object.assign(payload.issue.fields, { description: text });
    return { payload, comments: () => trackers.gamma.comments({ project: "APP", issue }), headers: {}, issue, project: "APP" };
  }
  const issue = deltaIssue(n);
  trackers.delta.addIssue(issue, at);
  const payload = delta.issueCreated(deltaProject, issue);
  payload.data.description_html = `<p>${text}</p>`;
  const headers = { "x-plane-event": "issue", "x-api-key": "test-key-1" };
  return {
    payload,
    comments: () => trackers.delta.comments({ project: deltaProject, issue }),
    headers,
    issue,
    project: deltaProject,
  };
}

/** Sends the webhook of an issue, waits until its only execution has ended, and reads it. */
export async function runOn<T>(service: Service, source: Source, { payload, headers }: Pick<NewIssue, "payload" | "headers">) {
  const { status, body } = await service.post<{ event_id: string }>(`/webhook/${source}`, JSON.stringify(payload), { headers });
  if (status !== 202) throw new Error(`the webhook was answered ${status}: ${JSON.stringify(body)}`);
  const [ended] = await waitForExecutions(service, { event_id: body.event_id });
  return (await service.get<T>(`/api/task-executions/${ended?.id}`)).body;
}
