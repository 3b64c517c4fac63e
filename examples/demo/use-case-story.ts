import { setTimeout as sleep } from "node:timers/promises";
import type { Station } from "./platform.ts";
import { deliver, follow, type Stage, seed, showComments } from "./story.ts";

interface SetUp {
  readonly project: { readonly id: number; readonly project_id: string };
  readonly tracker_issue: { readonly key: string } | null;
  readonly next_steps: readonly string[];
}
interface TornDown {
  readonly status: string;
  readonly project_deleted: boolean;
  readonly issue_closed: boolean;
}
type Row = Readonly<{ id: string }>;

const path = "/api/use-cases/module-update";
const context = { tech_stack: "TypeScript", deployment: "containers", team_size: "5" };

/** Plays the use case module-update: setup, an issue with three analyses, teardown. */
export async function playUseCase(stage: Stage): Promise<void> {
  const { tell, signalbox } = stage;
  await seed(stage);
  tell.heading("The setup");
  const made = await post<SetUp>(stage, `${path}/setup`, { project_context: context });
  const name = made.tracker_issue?.key;
  if (!name) throw new Error("the setup created no issue");
  tell.say("signalbox", `created project ${made.project.id}, ${made.project.project_id}, its routing, and the issue ${name}`);
  for (const step of made.next_steps) tell.quote(`- ${step}`);

  tell.heading("Created: the PM analysis");
  await follow(tell, signalbox, await firstOf(stage, made.project.id));
  await moveAndWait(stage, name, "in progress", "the technical analysis");
  await moveAndWait(stage, name, "closed", "the QA verification");
  await showComments(stage, { name }, 3);

  tell.heading("The teardown, twice");
  for (const expected of ["torn_down", "nothing_to_do"]) {
    const { status, project_deleted, issue_closed } = await post<TornDown>(stage, `${path}/teardown`);
    if (status !== expected) throw new Error(`the teardown must return ${expected}; it returned ${status}`);
    tell.say("signalbox", `answers ${status}`, `project deleted: ${project_deleted}, issue closed: ${issue_closed}`);
  }
  const [agents, tasks] = [await signalbox.get<Row[]>("/api/agents"), await signalbox.get<Row[]>("/api/tasks")];
  tell.say("signalbox", `still has its ${agents.length} agents and ${tasks.length} tasks`);
}

async function post<T>({ tell, signalbox }: Stage, to: string, body?: object): Promise<T> {
  tell.say("you", `POST ${to}`, body ? JSON.stringify(body) : "");
  const headers = { "content-type": "application/json" };
  const answer = await signalbox.post<T>(to, body && JSON.stringify(body), headers);
  if (answer.status !== 200) throw new Error(`POST ${to} answered ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** The execution that the setup started. */
async function firstOf({ signalbox }: Stage, project: number): Promise<string> {
  for (let tries = 0; tries < 200; tries++) {
    const [first] = await signalbox.get<Row[]>(`/api/task-executions?project_id=${project}`);
    if (first) return first.id;
    await sleep(50);
  }
  throw new Error("the new issue started no analysis");
}

async function moveAndWait(stage: Stage, name: string, to: Station, what: string): Promise<void> {
  const { tell, platform, signalbox } = stage;
  if (!platform.move) throw new Error(`${platform.source} does not support the use case`);
  tell.heading(`${to === "closed" ? "Closed" : "In progress"}: ${what}`);
  const webhook = await platform.move(name, to);
  tell.say("tracker", to === "closed" ? `${webhook.by} closes ${name}` : `${webhook.by} labels ${name} "${to}"`);
  const { canonical_trigger, executions = [] } = await deliver(stage, webhook);
  const [execution] = executions;
  if (!execution) throw new Error(`the move did not start ${what}`);
  tell.say("signalbox", `trigger ${canonical_trigger} fires ${execution.task_id}`);
  await follow(tell, signalbox, execution.id);
}
