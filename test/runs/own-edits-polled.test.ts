import { afterAll, beforeAll, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { type Model, startModel } from "../../examples/demo/model.ts";
import { project as deltaProject } from "../../plugins/delta/test-tracker.ts";
import {
  closeFour,
  type FourTrackers,
  fourEnv,
  newIssue,
  runOn,
  type Source,
  seedLook,
  sources,
  startFour,
} from "../harness/four-sources.ts";
import { betaProject, repo } from "../harness/payload-table.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";
import { roundsOf } from "../harness/world.ts";

interface Event {
  readonly subject: string;
  readonly event_name: string;
  readonly outcome: string;
  readonly reason: string | null;
}

let model: Model;
let service: Service;
let trackers: FourTrackers;
/** The model's answer takes this long. */
let thinking = Promise.resolve();

/** Rewrites the description if it must, waits, and answers. */
let describes = false;
function script(request: ChatRequest) {
  const tool = request.tools?.map(({ function: { name } }) => name).find((name) => name.endsWith("__update_description"));
  if (roundsOf(request) > 0 || !describes) return thinking.then(() => ({ content: "I have described it." }));
  const about = request.messages.map(({ content }) => content).join("\n");
  const issue = /This event is about \S+#(\S+)\./.exec(about)?.[1];
  return { tool_calls: [{ name: String(tool), arguments: { issue, description: "Described anew.\n\nIn two paragraphs." } }] };
}

/** The name by which each tracker polls the project of these issues. */
const projects: Readonly<Record<Source, string>> = { alpha: repo, beta: betaProject, gamma: "APP", delta: deltaProject };
/** Where an issue can have reactions. */
const withReactions: readonly Source[] = ["alpha", "beta"];
const triggers = ["issue.updated", "issue.commented"];
const names: Readonly<Record<Source, readonly (readonly [string, string | null])[]>> = {
  alpha: [
    ["issues", "edited"],
    ["issue_comment", "created"],
  ],
  beta: [
    ["Issue Hook", "update"],
    ["Note Hook", "create"],
  ],
  gamma: [
    ["gamma:issue_updated", null],
    ["comment_created", null],
  ],
  delta: [
    ["issue", "updated"],
    ["issue_comment", "created"],
  ],
};

beforeAll(async () => {
  model = await startModel({ script });
  trackers = await startFour();
  service = await startService({ env: { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", ...fourEnv(trackers, "t") } });
  await seedLook(service, ["issue.created", ...triggers]);
  for (const source of sources)
    for (const [at, [event_name, action]] of names[source].entries())
      await service.post("/api/tasks/sources", { source, event_name, action, canonical_trigger: triggers[at] });
}, 180_000);
afterAll(() => closeFour(trackers, model, service), 60_000);

const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString();
/** A poll source for the issues of one test. */
async function pollerOf(source: Source) {
  const body = { source, project_id: projects[source], interval_minutes: 60, enabled: false, since: hourAgo() };
  const made = await service.post<{ id: number }>("/api/poll-sources", body);
  expect(made.status).toBe(201);
  return async () => {
    const { status, body } = await service.post(`/api/poll-sources/${made.body.id}/poll`, undefined, { timeout: 60_000 });
    expect(status, JSON.stringify(body)).toBe(200);
  };
}

const cases = [
  { what: "an edit of the description", presence: "reaction", describes: true, cancelled: false },
  { what: "a living comment", presence: "comment", describes: false, cancelled: false },
  { what: "a sign that is taken back", presence: "reaction", describes: false, cancelled: true },
];
// One restart for all sources. Each has its own tracker, so no poll finds what another source's run wrote.
test.each(cases.map((one, at) => ({ ...one, number: 31 + at })))(
  "$what starts nothing when a poll finds it, also after a restart",
  { timeout: 180_000 },
  async ({ number, ...given }) => {
    expect((await service.put("/api/agents/pm_default", { policy: { presence: given.presence } })).status).toBe(200);
    describes = given.describes;
    let answer = () => {};
    thinking = new Promise((done) => (answer = done));
    const issues = sources.map((source) => ({ source, ...newIssue(trackers, source, number, "Since Monday.", hourAgo()) }));
    const runs = issues.map((issue) => runOn<{ id: string; state: string; subject: string }>(service, issue.source, issue));
    const running = async () => (await service.get<{ id: string }[]>("/api/task-executions?state=running")).body;
    await eventually(async () => (await running()).length === sources.length);
    // The issue shows that the run is working.
    await eventually(() =>
      issues.every(({ source, comments }) => {
        if (given.presence === "comment") return comments().length > 0;
        return !withReactions.includes(source) || signsOf(source, number).includes("eyes");
      }),
    );
    const polls = await Promise.all(sources.map(pollerOf));
    const pollAll = () => Promise.all(polls.map((poll) => poll()));
    await pollAll();
    if (given.cancelled) {
      for (const { id } of await running()) expect((await service.post(`/api/task-executions/${id}/cancel`)).status).toBe(200);
    } else answer();
    const ended = await Promise.all(runs);
    expect(ended.map(({ state }) => state)).toEqual(sources.map(() => (given.cancelled ? "cancelled" : "succeeded")));
    for (const source of sources) await eventually(() => signsOf(source, number).every((sign) => sign !== "eyes"));
    // Facts that only this process remembers do not help.
    await service.restart();
    await pollAll();
    await pollAll();
    const all = (await service.get<{ id: string; subject: string }[]>("/api/task-executions?limit=1000")).body;
    for (const { id, subject } of ended) {
      const events = (await service.get<Event[]>(`/api/webhook-events?limit=100&subject=${encodeURIComponent(subject)}`)).body;
      const others = all.filter((one) => one.id !== id && one.subject === subject);
      expect(others, JSON.stringify(events)).toEqual([]);
    }
  },
);

const signsOf = (source: Source, number: number): readonly string[] =>
  source === "alpha"
    ? trackers.alpha.reactions(repo, { issue: number })
    : trackers[source].reactions({ subject: { project: projects[source], issue: String(number) }, comment: null });
