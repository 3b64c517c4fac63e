import { createHmac, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Narrator } from "./narrator.ts";
import type { Signalbox } from "./signalbox.ts";
import type { Tracker } from "./tracker.ts";

/** What the story reads of a webhook payload. */
export interface IssuePayload {
  readonly action: string;
  readonly issue: {
    readonly number: number;
    readonly title: string;
    readonly body: string;
    readonly user: { readonly login: string };
  };
  readonly repository: { readonly full_name: string };
}

interface Receipt {
  readonly event_id: string;
  readonly status: string;
  readonly canonical_trigger?: string;
  readonly executions?: readonly { readonly id: string; readonly task_id: string }[];
}

interface Execution {
  readonly id: string;
  readonly task_id: string;
  readonly agent_id: string | null;
  readonly state: string;
  readonly error: string | null;
  readonly duration_ms: number | null;
  readonly transcript: readonly Step[];
}

interface Step {
  readonly seq: number;
  readonly kind: "prompt" | "model" | "tool" | "post";
  readonly state: string;
  readonly name: string | null;
  readonly output: unknown;
  readonly error: string | null;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly duration_ms: number;
}

export interface Stage {
  readonly tell: Narrator;
  readonly signalbox: Signalbox;
  readonly tracker: Tracker;
  readonly payload: IssuePayload;
  readonly secret: string;
  readonly token: string;
}

/** From the seeds to the redelivery. Throws where anything comes out otherwise than it should. */
export async function play(stage: Stage): Promise<void> {
  const { tell, signalbox } = stage;
  await seed(stage);
  tell.heading("An issue is opened");
  openIssue(stage);
  const delivery = randomUUID();
  const receipt = await deliver(stage, delivery);
  const executions = receipt.executions ?? [];
  if (receipt.status !== "accepted" || executions.length === 0) {
    throw new Error(`The webhook should have been accepted with executions; the answer was ${JSON.stringify(receipt)}`);
  }
  tell.say("signalbox", `trigger ${receipt.canonical_trigger} fires ${executions.length} tasks`, `event ${receipt.event_id}`);
  tell.heading("The agents work");
  await Promise.all(executions.map(({ id }) => follow(tell, signalbox, id)));
  const comments = await showComments(stage, executions.length);
  await redeliver(stage, delivery, comments);
}

async function seed({ tell, signalbox }: Stage): Promise<void> {
  const made: string[] = [];
  for (const [path, what] of [
    ["/api/agents/seed", "agents"],
    ["/api/tasks/seed", "tasks"],
    ["/api/tasks/triggers/seed", "trigger mappings"],
    ["/api/tasks/sources/seed", "source mappings"],
  ] as const) {
    made.push(`${(await signalbox.post<{ created: number }>(path)).body.created} ${what}`);
  }
  tell.say("signalbox", `seeded ${made.join(", ")}`);
}

function openIssue({ tell, tracker, payload }: Stage): void {
  const { number, title, body, user } = payload.issue;
  const repo = payload.repository.full_name;
  tracker.createIssue({ repo, number, title, body, login: user.login, labels: ["bug"] });
  tell.say("tracker", `${user.login} opens ${repo}#${number}`);
  tell.quote(title);
}

async function deliver({ tell, signalbox, payload, secret }: Stage, delivery: string): Promise<Receipt> {
  const body = JSON.stringify(payload);
  const start = performance.now();
  const answer = await signalbox.post<Receipt>("/webhook/alpha", body, {
    "x-github-event": "issues",
    "x-github-delivery": delivery,
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
  });
  const took = (performance.now() - start).toFixed(0);
  tell.say(
    "tracker",
    `sends the webhook issues.${payload.action}`,
    `${(body.length / 1024).toFixed(1)} KiB, signed, delivery ${delivery}`,
  );
  tell.say("signalbox", `answers ${answer.status} ${answer.body.status} after ${took} ms`);
  return answer.body;
}

/** Tells every step of an execution once it is done, until the execution has ended. */
async function follow(tell: Narrator, signalbox: Signalbox, id: string): Promise<void> {
  let told = -1;
  let introduced = false;
  while (true) {
    const run = await signalbox.get<Execution>(`/api/task-executions/${id}`);
    if (!introduced && run.agent_id) {
      introduced = true;
      tell.say(run.agent_id, `takes up ${run.task_id}`, `execution ${id}`);
    }
    const done = run.transcript.filter((step) => step.seq > told && step.state !== "started");
    for (const step of done) {
      told = step.seq;
      const words = inWords(step);
      if (words) tell.say(run.agent_id ?? "fallback", words.text, words.note);
    }
    if (run.state === "succeeded")
      return tell.say(run.agent_id ?? "fallback", `${run.task_id} succeeded`, `${run.duration_ms} ms`);
    if (run.state === "failed" || run.state === "cancelled")
      throw new Error(`Execution ${id} of ${run.task_id} ${run.state}: ${run.error}`);
    await sleep(30);
  }
}

function inWords(step: Step): { text: string; note: string } | null {
  const failed = step.state === "failed" ? `, which failed: ${step.error}` : "";
  const took = `${step.duration_ms} ms`;
  if (step.kind === "model") {
    const { content, tool_calls } = (step.output ?? {}) as { content?: string | null; tool_calls?: readonly unknown[] | null };
    const what = tool_calls?.length ? "the model asks for a tool" : `the model answers, ${content?.length ?? 0} characters`;
    return { text: what + failed, note: `${step.prompt_tokens} + ${step.completion_tokens} tokens, ${took}` };
  }
  if (step.kind === "tool") return { text: `calls ${step.name}${failed}`, note: took };
  if (step.kind === "post") return { text: `posts the answer as a comment${failed}`, note: took };
  return null;
}

interface Comment {
  readonly body: string;
  readonly user: { readonly login: string };
}

async function fetchComments({ tracker, payload, token }: Stage): Promise<Comment[]> {
  const path = `/repos/${payload.repository.full_name}/issues/${payload.issue.number}/comments`;
  const response = await fetch(tracker.url + path, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`The tracker answered ${response.status} for ${path}`);
  return (await response.json()) as Comment[];
}

async function showComments(stage: Stage, expected: number): Promise<number> {
  const { tell, payload } = stage;
  const comments = await fetchComments(stage);
  tell.heading(`${payload.repository.full_name}#${payload.issue.number} at the tracker: ${comments.length} comments`);
  for (const [i, { body, user }] of comments.entries()) {
    if (i > 0) tell.plain();
    tell.say("tracker", `${user.login} wrote`);
    tell.quote(body.replace(/<!--[\s\S]*?-->/g, "").trim());
  }
  if (comments.length !== expected)
    throw new Error(`There should be ${expected} comments, one per task; there are ${comments.length}.`);
  return comments.length;
}

async function redeliver(stage: Stage, delivery: string, before: number): Promise<void> {
  stage.tell.heading("The tracker sends the same webhook again");
  const again = await deliver(stage, delivery);
  if (again.status !== "duplicate") throw new Error(`A redelivery should be answered duplicate; it was ${JSON.stringify(again)}`);
  const after = (await fetchComments(stage)).length;
  if (after !== before)
    throw new Error(`A redelivery must not comment again; there were ${before} comments and now there are ${after}.`);
  stage.tell.say("tracker", `still ${after} comments: nothing ran twice`);
}
