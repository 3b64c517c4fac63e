import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Narrator } from "./narrator.ts";
import type { Opened, Platform, Remark } from "./platform.ts";
import type { Signalbox } from "./signalbox.ts";

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
  readonly platform: Platform;
}

/** Plays the story from the seeds to the redelivery. Throws if any result differs from what is expected. */
export async function play(stage: Stage): Promise<void> {
  const { tell, signalbox } = stage;
  await seed(stage);
  tell.heading("An issue is opened");
  const openedIssue = await openIssue(stage);
  const delivery = randomUUID();
  const receipt = await deliver(stage, openedIssue, delivery);
  const executions = receipt.executions ?? [];
  if (receipt.status !== "accepted" || executions.length === 0) {
    throw new Error(`the webhook must be accepted with executions; the response was ${JSON.stringify(receipt)}`);
  }
  tell.say("signalbox", `trigger ${receipt.canonical_trigger} fires ${executions.length} tasks`, `event ${receipt.event_id}`);
  tell.heading("The agents run");
  await Promise.all(executions.map(({ id }) => follow(tell, signalbox, id)));
  const comments = await showComments(stage, openedIssue, executions.length);
  await redeliver(stage, openedIssue, delivery, comments);
}

export async function seed({ tell, signalbox }: Stage): Promise<void> {
  const createdParts: string[] = [];
  for (const [path, what] of [
    ["/api/agents/seed", "agents"],
    ["/api/tasks/seed", "tasks"],
    ["/api/tasks/triggers/seed", "trigger mappings"],
    ["/api/tasks/sources/seed", "source mappings"],
  ] as const) {
    createdParts.push(`${(await signalbox.post<{ created: number }>(path)).body.created} ${what}`);
  }
  tell.say("signalbox", `seeded ${createdParts.join(", ")}`);
}

async function openIssue({ tell, platform }: Stage): Promise<Opened> {
  const openedIssue = await platform.openIssue();
  tell.say("tracker", `${openedIssue.by} opens ${openedIssue.name}`);
  tell.quote(openedIssue.title);
  return openedIssue;
}

export async function deliver(
  { tell, signalbox, platform }: Stage,
  { webhook }: Opened,
  delivery: string = randomUUID(),
): Promise<Receipt> {
  const body = JSON.stringify(webhook.payload);
  const start = performance.now();
  const answer = await signalbox.post<Receipt>(`/webhook/${platform.source}`, body, webhook.headers(body, delivery));
  const took = (performance.now() - start).toFixed(0);
  const size = `${(body.length / 1024).toFixed(1)} KiB`;
  tell.say("tracker", `sends the webhook ${webhook.event}`, `${size}, ${webhook.proof}, delivery ${delivery}`);
  tell.say("signalbox", `answers ${answer.status} ${answer.body.status} after ${took} ms`);
  return answer.body;
}

/** Prints each completed step of an execution, until the execution has ended. */
export async function follow(tell: Narrator, signalbox: Signalbox, id: string): Promise<void> {
  let lastSeq = -1;
  let isIntroduced = false;
  while (true) {
    const run = await signalbox.get<Execution>(`/api/task-executions/${id}`);
    if (!isIntroduced && run.agent_id) {
      isIntroduced = true;
      tell.say(run.agent_id, `starts ${run.task_id}`, `execution ${id}`);
    }
    const done = run.transcript.filter((step) => step.seq > lastSeq && step.state !== "started");
    for (const step of done) {
      lastSeq = step.seq;
      const words = inWords(step);
      if (words) tell.say(run.agent_id ?? "fallback", words.text, words.note);
    }
    if (run.state === "succeeded")
      return tell.say(run.agent_id ?? "fallback", `${run.task_id} succeeded`, `${run.duration_ms} ms`);
    if (run.state === "failed" || run.state === "cancelled")
      throw new Error(`execution ${id} of ${run.task_id} ${run.state}: ${run.error}`);
    await sleep(30);
  }
}

function inWords(step: Step): { text: string; note: string } | null {
  const failureText = step.state === "failed" ? `, which failed: ${step.error}` : "";
  const took = `${step.duration_ms} ms`;
  if (step.kind === "model") {
    const { content, tool_calls } = (step.output ?? {}) as { content?: string | null; tool_calls?: readonly unknown[] | null };
    const what = tool_calls?.length ? "the model calls a tool" : `the model answers: ${content?.length ?? 0} characters`;
    return { text: what + failureText, note: `${step.prompt_tokens} tokens in, ${step.completion_tokens} out, ${took}` };
  }
  if (step.kind === "tool") return { text: `calls ${step.name}${failureText}`, note: took };
  if (step.kind === "post") return { text: `posts the answer as a comment${failureText}`, note: took };
  return null;
}

/** The comment as a reader sees it, without our marker. */
const visibleText = ({ text }: Remark): string => text.replace(/<!--[\s\S]*?-->|[\u200B-\u200D\u2060-\u2064]{8,}/g, "").trim();

export async function showComments({ tell, platform }: Stage, { name }: Pick<Opened, "name">, expected: number): Promise<number> {
  const remarks = await platform.remarks(name);
  tell.heading(`${name} in the tracker: ${remarks.length} comments`);
  for (const [i, remark] of remarks.entries()) {
    if (i > 0) tell.plain();
    tell.say("tracker", `${remark.by} wrote`);
    tell.quote(visibleText(remark));
  }
  if (remarks.length !== expected)
    throw new Error(`there must be ${expected} comments, one per task; there are ${remarks.length}`);
  return remarks.length;
}

async function redeliver(stage: Stage, opened: Opened, delivery: string, before: number): Promise<void> {
  stage.tell.heading("The tracker sends the same webhook again");
  const again = await deliver(stage, opened, delivery);
  if (again.status !== "duplicate")
    throw new Error(`the redelivery must return duplicate; the response was ${JSON.stringify(again)}`);
  const after = (await stage.platform.remarks()).length;
  if (after !== before) throw new Error(`after the redelivery there must be ${before} comments; there are ${after}`);
  stage.tell.say("tracker", `still ${after} comments: nothing ran twice`);
}
