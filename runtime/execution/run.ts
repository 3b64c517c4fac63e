import type { SubjectDetails } from "@signalbox/sdk";
import type { Agent } from "../agents/queries.ts";
import { saveUses } from "../memory/use-queries.ts";
import { yieldIfLong } from "../outbox/open.ts";
import { Failure } from "../platform/retry.ts";
import { posts } from "../platform/telemetry/metrics.ts";
import { inSpan } from "../platform/telemetry/tracing.ts";
import { projectKeyOf } from "../policy/policies.ts";
import { writeRefusal } from "../policy/standing.ts";
import { subjectKey } from "../subject-names/subject-key.ts";
import type { Task } from "../tasks/queries.ts";
import { approvalOf, isApproved, isOpen, waitingFor } from "./approval.ts";
import { runBudget } from "./budget.ts";
import { requireLimitsOf } from "./chosen-agent.ts";
import { chooseAgent } from "./chosen-agent-queries.ts";
import type { Conversation } from "./conversation.ts";
import { converse } from "./converse.ts";
import { withLateStanding } from "./late-standing.ts";
import { postAnswer } from "./post.ts";
import { systemPrompt, taskPrompt } from "./prompt.ts";
import type { ClaimedExecution } from "./queries.ts";
import type { Run, RunDeps, RunOutcome } from "./run-context.ts";
import type { Plan } from "./step-log.ts";
import type { Patch, StepRow } from "./steps/rows.ts";
import { renameSubject } from "./subject-queries.ts";
import { writeApproved } from "./tools-step.ts";

/** How long an offer to a connected agent lasts. The replicas that serve its streams renew it. */
export const offerSeconds = 10;
/** After this many connected agents failed to finish an execution, the LLM runs it. */
const maxHandovers = 2;

/**
 * Runs an execution to its end: selects the agent, composes the prompt, calls the model, runs the tools that it calls, and posts
 * the answer. Resumes after the last step of the transcript.
 */
export async function runExecution(initial: Run, options: RunDeps): Promise<RunOutcome> {
  const deps = initial.execution.dry_run ? { ...options, trackerUpdates: false } : options;
  const { transcript } = initial;
  const isNew = transcript.steps.length === 0;
  const claimed = isNew ? { ...initial, execution: await withLateStanding(initial.execution, deps) } : initial;
  const plan = (transcript.steps[0]?.input as Plan | undefined) ?? (await makePlan(claimed, deps));
  if (plan === null) return { kind: "postponed" };
  const run = { ...claimed, execution: withSubject(claimed.execution, plan.about) };
  if (isForConnected(run, plan, deps)) {
    const offered_to = plan.agent_id as string;
    await transcript.flush({ state: "queued", agent_id: offered_to, offered_to, offered_seconds: offerSeconds });
    return { kind: "offered", to: offered_to };
  }
  const { execution, signal, limits } = run;
  const policy = deps.policies.during(plan.agent_id, projectKeyOf(execution));
  const approval = approvalOf(policy, deps.approvalTtlMs);
  const outbox = deps.outbox.of(execution, plan.agent_id);
  const connectionFor = (source: string) => deps.connectionFor(source, execution, plan.agent_id);
  const conversation: Conversation = {
    id: execution.id,
    plan,
    log: transcript,
    signal,
    connectionFor,
    argumentsToSend: async (tool, input) => outbox.arguments(tool, input, await connectionFor(execution.source)),
    execution: {
      limits,
      budget: runBudget(execution, plan.agent_id, deps),
      approval,
      writeRefusal: () => writeRefusal(execution.origin?.author ?? null, policy()),
      guard: (target, call) => deps.breakers.guard(execution, target, signal, call),
      isDefaultModel: plan.model === deps.defaultModel,
      project: execution.project,
      subject: execution.subject,
      private: execution.place?.private ?? false,
      eventTime: timeOf(execution),
    },
  };
  for (const step of transcript.steps)
    if (step.kind === "tool" && isApproved(step)) await writeApproved(conversation, step, deps);
  const text = await yieldIfLong((await converse(conversation, deps)).trim());
  const answer = await yieldIfLong(outbox.withoutSecrets(text));
  const post = () => postAnswer({ ...run, approval, outbox }, plan.agent_id, answer, deps);
  const { url, error } = await inSpan("post", {}, post);
  if (url !== null || error !== null) posts.inc({ source: execution.source, state: error === null ? "succeeded" : "failed" });
  const ending = endingOf(transcript.steps);
  await transcript.flush({ ...transcript.totals(), ...ending, result: answer, result_url: url, error });
  return { kind: "done" };
}

/** When the event happened, or when it arrived if the platform does not report a time. */
function timeOf({ origin }: ClaimedExecution): number | null {
  const time = Date.parse(origin?.occurred_at ?? origin?.received_at ?? "");
  return Number.isNaN(time) ? null : time;
}

/** The final state of an execution whose answer is known. Throws if an approved write failed. */
function endingOf(steps: readonly StepRow[]): Patch {
  const open = steps.filter(isOpen);
  if (open.length > 0) return { state: "waiting", waiting_for: waitingFor(open) };
  const failed = steps.filter(({ decided, state }) => decided && state === "failed");
  const [first] = failed;
  if (!first) return { state: "succeeded" };
  const count = failed.length === 1 ? "An approved proposal" : `${failed.length} approved proposals`;
  throw new Failure(`${count} could not be written: ${first.name}: ${first.error}`, { retryable: false });
}

/** Whether the agent is connected and the model has not begun to answer. */
function isForConnected({ execution, transcript }: Run, plan: Plan, deps: RunDeps): boolean {
  const hasOnlyPlan = transcript.steps.every(({ kind, state }) => kind === "prompt" || (kind === "model" && state === "started"));
  return (
    hasOnlyPlan &&
    !execution.dry_run &&
    plan.agent_id !== null &&
    execution.handovers < maxHandovers &&
    deps.connected(plan.agent_id)
  );
}

/** The execution with the subject that was looked up, if its webhook named the subject differently. */
const withSubject = (execution: ClaimedExecution, about: SubjectDetails | null | undefined): ClaimedExecution =>
  about?.subject ? { ...execution, ...about.subject, subject: subjectKey(execution.source, about.subject) } : execution;

/**
 * The task and the agent that runs it; `null`: its fallback prompt runs. A replay may name another agent and another prompt. Returns
 * `null` if the agent is paused: the execution is queued again.
 */
async function actorOf(execution: ClaimedExecution, deps: RunDeps): Promise<{ task: Task; agent: Agent | null } | null> {
  const { sql, lookup } = deps;
  const { agent_id, prompt } = execution.overrides ?? {};
  // The agent of the claim is usually the agent that runs, so it is read together with the task.
  const [task, claimed] = await Promise.all([
    lookup.task(execution.task_id, execution.task_version),
    execution.agent_id && lookup.agent(execution.agent_id, execution.agent_version),
  ]);
  if (!task) throw new Failure(`The task "${execution.task_id}" no longer exists.`, { retryable: false });
  const required = agent_id === undefined ? task.required_capabilities : [];
  const matched = required.length > 0 ? await chooseAgent(sql, execution, required) : undefined;
  if (matched?.is_paused) return null;
  if (matched) await requireLimitsOf(matched.id, execution, deps);
  const id = agent_id ?? matched?.id ?? task.actor_id;
  const agent = (claimed && claimed.id === id ? claimed : await lookup.agent(id, null)) ?? null;
  if (!agent && !task.actor_fallback?.trim())
    throw new Failure(`The agent "${id}" does not exist, and the task "${task.id}" has no actor_fallback.`, { retryable: false });
  if (prompt === undefined) return { task, agent };
  return { task: { ...task, actor_fallback: prompt }, agent: agent && { ...agent, prompt } };
}

/**
 * `null`: the execution is queued again, because others come first on the issue that was looked up, or its project or agent is
 * paused.
 */
async function makePlan({ execution, transcript }: Run, deps: RunDeps): Promise<Plan | null> {
  const actor = await actorOf(execution, deps);
  if (actor === null) return null;
  const { task, agent } = actor;
  const agent_id = agent?.id ?? null;
  const connection = deps.connectionFor(execution.source, execution, agent_id);
  const [memories, about] = await Promise.all([
    recallAndRecord(execution, agent_id, deps),
    connection.then((found) => deps.descriptions.of(execution, found)),
  ]);
  if (about?.subject && !(await renameSubject(deps.sql, execution, about.subject))) return null;
  const policy = deps.policies.of(agent_id, projectKeyOf(execution));
  const isReadOnly = writeRefusal(execution.origin?.author ?? null, policy) !== null;
  const plan: Plan = {
    agent_id,
    model: agent?.model ?? deps.defaultModel,
    temperature: agent?.temperature ?? null,
    ...(about && { about }),
    messages: [
      { role: "system", content: await systemPrompt(agent, task, memories, timeOf(execution)) },
      taskPrompt(task, withSubject(execution, about), about),
    ],
    tools: deps.tools
      .eligibleTools({ source: execution.source, agentId: agent_id, allowedTools: agent?.allowed_tools ?? null })
      .filter(({ effect }) => effect === "read" || !isReadOnly)
      .map(({ qualifiedName }) => qualifiedName),
  };
  transcript.add({ kind: "prompt", state: "succeeded", agent_id, input: plan });
  return plan;
}

/** The memories for the prompt. Their keys are stored with the execution. */
async function recallAndRecord({ id, content, project_id }: ClaimedExecution, agent_id: string | null, deps: RunDeps) {
  const viewer = { execution_id: id, agent_id, project_id };
  const memories = await inSpan("memory.search", {}, () => deps.recall(content, viewer));
  const keys = memories.map(({ key }) => key);
  if (keys.length > 0) await saveUses(deps.sql, id, keys);
  return memories;
}
