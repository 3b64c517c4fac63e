import type { PolicyLevel } from "@signalbox/schema/policy";
import { joinedText, type SubjectDetails } from "@signalbox/sdk";
import type { Agent } from "../agents/queries.ts";
import { connectionTarget } from "../breakers/breakers.ts";
import { saveUses } from "../memory/use-queries.ts";
import { yieldIfLong } from "../platform/next-turn.ts";
import { Failure, maxRetryMs } from "../platform/retry.ts";
import { posts } from "../platform/telemetry/metrics.ts";
import { inSpan } from "../platform/telemetry/tracing.ts";
import { projectKeyOf } from "../policy/policies.ts";
import { writeRefusal } from "../policy/standing.ts";
import { subjectKey, unknownProject } from "../subject-names/subject-key.ts";
import type { Task } from "../tasks/queries.ts";
import { approvalOf, isApproved, isOpen, waitingFor } from "./approval.ts";
import { runBudget } from "./budget.ts";
import { chooseAgent } from "./chosen-agent-queries.ts";
import type { Conversation } from "./conversation.ts";
import { converse } from "./converse.ts";
import { findMs } from "./describe.ts";
import { requireLateLimits } from "./late-limits.ts";
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
  const begun = await beginRun(initial, deps);
  if (begun === null) return { kind: "postponed" };
  const { plan } = begun;
  const run = { ...initial, execution: begun.execution };
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

/** The stored plan of an execution, or a new one. */
async function beginRun(initial: Run, deps: RunDeps): ReturnType<typeof makePlan> {
  const plan = initial.transcript.steps[0]?.input as Plan | undefined;
  if (plan) return { plan, execution: withSubject(initial.execution, plan.about) };
  const isNew = initial.transcript.steps.length === 0;
  return makePlan(isNew ? { ...initial, execution: await withLateStanding(initial.execution, deps) } : initial, deps);
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

interface Actor {
  readonly task: Task;
  readonly agent: Agent | null;
  /** Whether the agent was chosen by capability. */
  readonly isChosen: boolean;
}

/**
 * The task and the agent that runs it; `null`: its fallback prompt runs. A replay may name another agent and another prompt. Returns
 * `null` if the agent is paused: the execution is queued again.
 */
async function actorOf(execution: ClaimedExecution, { sql, lookup }: RunDeps): Promise<Actor | null> {
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
  const id = agent_id ?? matched?.id ?? task.actor_id;
  const agent = (claimed && claimed.id === id ? claimed : await lookup.agent(id, null)) ?? null;
  if (!agent && !task.actor_fallback?.trim())
    throw new Failure(`The agent "${id}" does not exist, and the task "${task.id}" has no actor_fallback.`, { retryable: false });
  const isChosen = matched !== undefined;
  if (prompt === undefined) return { task, agent, isChosen };
  return { task: { ...task, actor_fallback: prompt }, agent: agent && { ...agent, prompt }, isChosen };
}

/**
 * The plan of an execution, and the execution with the names that were looked up. `null`: it is queued again, because others come
 * first on the issue that was looked up, or its project or agent is paused.
 */
async function makePlan(run: Run, deps: RunDeps): Promise<{ plan: Plan; execution: ClaimedExecution } | null> {
  const actor = await actorOf(run.execution, deps);
  if (actor === null) return null;
  const { task, agent } = actor;
  const agent_id = agent?.id ?? null;
  const about = await describeSubject(run, agent_id, deps);
  const execution = await named(run.execution, about, actor, deps);
  if (execution === null) return null;
  const memories = await recallAndRecord(execution, agent_id, deps);
  const policy = deps.policies.of(agent_id, projectKeyOf(execution));
  const isReadOnly = writeRefusal(execution.origin?.author ?? null, policy) !== null;
  const plan: Plan = {
    agent_id,
    model: agent?.model ?? deps.defaultModel,
    temperature: agent?.temperature ?? null,
    ...(about && { about }),
    messages: [
      { role: "system", content: await systemPrompt(agent, task, memories, timeOf(execution)) },
      await taskPrompt(task, execution, about),
    ],
    tools: deps.tools
      .eligibleTools({ source: execution.source, agentId: agent_id, allowedTools: agent?.allowed_tools ?? null })
      .filter(({ effect }) => effect === "read" || !isReadOnly)
      .map(({ qualifiedName }) => qualifiedName),
  };
  run.transcript.add({ kind: "prompt", state: "succeeded", agent_id, input: plan });
  return { plan, execution };
}

/**
 * The facts about the issue of an execution that its webhook does not contain; `null`: none are needed, or the platform does not
 * answer. If limits may depend on the project of the issue, and the webhook does not contain it, throws if the platform does not
 * answer.
 */
async function describeSubject({ execution, signal, limits }: Run, agentId: string | null, deps: RunDeps) {
  const connection = await deps.connectionFor(execution.source, execution, agentId);
  const isNeeded = execution.project === unknownProject && deps.policies.limitsProjects(execution.source);
  if (!isNeeded || !connection) return deps.descriptions.of(execution, connection);
  limits.lease.progress(maxRetryMs(findMs));
  const find = () => deps.descriptions.find(execution, connection, signal);
  try {
    return await deps.breakers.guard(execution, connectionTarget(execution.source, connection.id, "read"), signal, find);
  } catch (error) {
    if (error instanceof Failure)
      error.message = `The project of its issue could not be looked up, so the limits of its project are unknown: ${error.message}`;
    throw error;
  }
}

/** The execution with the names that were looked up, once its limits allow it; `null` if it is queued again. */
async function named(
  execution: ClaimedExecution,
  about: SubjectDetails | null,
  { agent, isChosen }: Actor,
  deps: RunDeps,
): Promise<ClaimedExecution | null> {
  const known = withSubject(execution, about);
  const isMoved = known.project !== execution.project;
  const levels = new Set<PolicyLevel>([...(isChosen ? ["agent" as const] : []), ...(isMoved ? ["project" as const] : [])]);
  const isRenamed = known.subject !== execution.subject;
  // Before the issue is renamed: once it is, a later attempt does not know that its project was unknown.
  if (levels.size > 0 || isRenamed) await requireLateLimits({ levels, isRenamed }, known, agent?.id ?? null, deps);
  if (!about?.subject) return execution;
  const renamed = await renameSubject(deps.sql, execution, about.subject);
  return renamed && { ...known, project_id: renamed.project_id };
}

/** The memories for the prompt. Their keys are stored with the execution. */
async function recallAndRecord({ id, parts, project_id }: ClaimedExecution, agent_id: string | null, deps: RunDeps) {
  const viewer = { execution_id: id, agent_id, project_id };
  const memories = await inSpan("memory.search", {}, () => deps.recall(joinedText(parts), viewer));
  const keys = memories.map(({ key }) => key);
  if (keys.length > 0) await saveUses(deps.sql, id, keys);
  return memories;
}
