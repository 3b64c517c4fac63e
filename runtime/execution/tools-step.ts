import { connectionTarget } from "../breakers/breakers.ts";
import { hasTooManyArguments, maxArguments, type ToolCall } from "../llm/chat-messages.ts";
import { toolWrite } from "../own-writes/own-write.ts";
import { storable } from "../platform/json.ts";
import { Failure } from "../platform/retry.ts";
import { labelValue, toolCalls } from "../platform/telemetry/metrics.ts";
import { genAi, ownAttributes } from "../platform/telemetry/names.ts";
import { inSpan } from "../platform/telemetry/tracing.ts";
import type { Connection } from "../plugins/connections.ts";
import { functionName } from "../tools/function-name.ts";
import { BadParameter, type Parameters, type RegisteredTool } from "../tools/registered-tool.ts";
import { findFor, hasUnknowableOutcome, maxToolRunMs, runTool } from "../tools/run-tool.ts";
import { proposedResult } from "./approval.ts";
import type { Conversation, ConversationDeps } from "./conversation.ts";
import type { StepRow } from "./steps/rows.ts";
import { runWrite, type WriteStep } from "./write-step.ts";

/** The qualified name of the called tool; `undefined` if the plan has no such tool. */
const toolNameOf = ({ tools }: Conversation["plan"], call: ToolCall): string | undefined =>
  tools.find((name) => functionName(name) === call.name);

/** Adds the step of a call as started. Without a tool, it has the model's name for it. */
export const beginCall = ({ plan, log }: Conversation, call: ToolCall): StepRow =>
  log.add({
    kind: "tool",
    state: "started",
    name: toolNameOf(plan, call) ?? call.name,
    agent_id: plan.agent_id,
    input: call.arguments,
  });

type Outcome = Pick<StepRow, "state"> & Partial<StepRow>;

interface CallDeps extends ConversationDeps {
  /** Adds the step that follows, which is stored with the outcome of this one. */
  readonly addNextStep: () => void;
}

/**
 * Runs one tool call as one step. A write is stored as started before it is sent. The model receives permanent errors. A
 * transient failure that outlasts its retries ends the attempt, if another attempt can follow. `startedStep` is the step that was
 * stored as started before. If it has a key, an earlier attempt may have sent the call, so its outcome is unknown.
 */
export function callTool(
  conversation: Conversation,
  call: ToolCall,
  startedStep: StepRow | undefined,
  deps: CallDeps,
): Promise<StepRow> {
  const attributes = { [genAi.operation]: "execute_tool", [genAi.tool]: call.name, [genAi.callId]: call.id };
  return inSpan(`execute_tool ${call.name}`, attributes, async (span) => {
    const step = await runCall(conversation, call, startedStep, deps);
    toolCalls.inc({ tool: labelValue("tool", step.name ?? ""), state: step.state });
    span?.setAttribute(ownAttributes.state, step.state);
    return step;
  });
}

async function runCall(
  conversation: Conversation,
  call: ToolCall,
  startedStep: StepRow | undefined,
  deps: CallDeps,
): Promise<StepRow> {
  const { log, plan, execution } = conversation;
  conversation.signal.throwIfAborted();
  const toolName = toolNameOf(plan, call);
  const tool = toolName === undefined ? undefined : deps.tools.get(toolName);
  const earlierCall = startedStep?.key ? startedStep : undefined;
  const step = startedStep ?? beginCall(conversation, call);
  const work = async (): Promise<Outcome> => {
    // A call that was sent before is not refused, because it may have been carried out.
    const refusal = earlierCall || tool?.effect === "read" ? null : execution?.writeRefusal();
    if (refusal) throw toolError(`"${call.name}" cannot be called: ${refusal}.`);
    if (toolName === undefined) throw toolError(`There is no function "${call.name}". Use one of the functions in this request.`);
    if (!tool) throw toolError(`The tool ${toolName} no longer exists.`);
    if (earlierCall) refuseUnknowable(tool);
    const isWrite = tool.effect === "write";
    if (isWrite) refuseWrite(conversation, tool, earlierCall !== undefined, deps);
    const input = readArguments(tool, call, execution?.project ?? null);
    step.input = input;
    step.input = await conversation.argumentsToSend(tool, input);
    const earlierResult = earlierCall ? null : repeatedResult(log.steps, step);
    if (earlierResult) return earlierResult;
    if (isWrite && !deps.trackerUpdates) return { state: "dry_run", output: { dry_run: true } };
    if (!earlierCall && isWrite && execution?.approval.needs(tool.qualifiedName)) {
      await accountFor(conversation, tool);
      return { state: "proposed", output: proposedResult, expires_ms: execution.approval.ttlMs };
    }
    return { state: "succeeded", output: await send(conversation, tool, step, earlierCall !== undefined) };
  };
  return finishStep(conversation, step, work, deps.addNextStep);
}

/** Refuses a write that would show something private to others, or that exceeds the run's limit on writes. */
function refuseWrite({ log, execution }: Conversation, tool: RegisteredTool, resumed: boolean, { tools }: CallDeps): void {
  if (!execution) return;
  if (execution.private && !tool.keepsPrivate) throw toolError(wouldPublish(tool));
  // A call that an earlier attempt has sent is counted already.
  if (resumed) return;
  const refusal = execution.budget.exhaustedWriteLimit(log, (name) => tools.get(name)?.effect === "write");
  if (refusal) throw toolError(refusal);
}

/** Maximum number of calls of one tool with the same arguments in a run. */
const maxSameCalls = 5;

/** The result for a call that the run has made too often; `null` for other calls. */
function repeatedResult(steps: readonly StepRow[], step: StepRow): Pick<StepRow, "state" | "output"> | null {
  const callArguments = argumentsOf(step);
  const same = steps.filter(
    (one) => one !== step && one.kind === "tool" && one.name === step.name && argumentsOf(one) === callArguments,
  );
  const earlier = same.findLast(({ state }) => state !== "started");
  if (same.length < maxSameCalls || !earlier) return null;
  const note = `You have this already: this function was called with the same arguments ${maxSameCalls} times. It was not called again; this is the earlier result.`;
  const result = earlier.error === null ? earlier.output : { error: earlier.error };
  const known = (result as { result?: unknown; note?: unknown } | null)?.note === note;
  return { state: "succeeded", output: known ? earlier.output : { note, result } };
}

const argumentsOf = ({ input }: StepRow): string =>
  JSON.stringify(
    typeof input === "object" && input !== null ? Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1)) : input,
  );

/** Writes a proposal that was approved, with exactly the parameters that were proposed. */
export function writeApproved(conversation: Conversation, step: StepRow, deps: ConversationDeps): Promise<StepRow> {
  const resumed = step.state === "started";
  return finishStep(conversation, step, async () => {
    const tool = step.name === null ? undefined : deps.tools.get(step.name);
    if (!tool) throw toolError(`The tool ${step.name} no longer exists.`);
    if (resumed) refuseUnknowable(tool);
    if (!deps.trackerUpdates) throw toolError("Nothing was written: TRACKER_UPDATES_ENABLED is false.");
    if (!resumed) conversation.log.complete(step, { state: "started", output: null });
    return { state: "succeeded", output: await send(conversation, tool, step, resumed) };
  });
}

/** Runs the work of a step and stores its outcome. Throws a transient failure if another attempt can follow. */
async function finishStep(
  conversation: Conversation,
  step: StepRow,
  work: () => Promise<Outcome>,
  next?: () => void,
): Promise<StepRow> {
  const { log, signal, execution } = conversation;
  const startedAt = performance.now();
  const ended = await work().catch((error): Outcome => {
    signal.throwIfAborted();
    if (!(error instanceof Failure) || (error.retryable && execution)) throw error;
    return { state: "failed", error: error.message };
  });
  log.complete(step, { output: null, error: null, ...ended, duration_ms: Math.round(performance.now() - startedAt) });
  next?.();
  await log.flush();
  execution?.limits.unconfirmedStepIds.delete(step.id);
  return step;
}

/** Refuses to repeat an interrupted call that may already have taken effect. */
function refuseUnknowable(tool: RegisteredTool): void {
  if (!hasUnknowableOutcome(tool)) return;
  throw toolError(
    "This call was interrupted, and its outcome is unknown. It was not repeated. Check whether it took effect before you call it again.",
  );
}

/** Calls the tool with the input of its step. */
async function send(conversation: Conversation, tool: RegisteredTool, step: StepRow, resumed: boolean): Promise<unknown> {
  const account = await accountFor(conversation, tool);
  const connection = account ? (account.settings as Record<string, unknown>) : {};
  const key = `${conversation.id}.${step.seq}`;
  step.key = key;
  const { id, execution } = conversation;
  const from = { execution_id: execution ? id : null, subject: execution?.subject ?? null };
  if (tool.effect === "write") step.wrote = toolWrite(step, tool, step.input as Parameters, from);
  const use = { connection, key, ...(execution && { private: execution.private }) };
  const run = (signal: AbortSignal) => runTool(tool, step.input as Parameters, { ...use, signal }, resumed);
  const find = findFor(tool, step.input as Parameters, use);
  const runWithLimits = () => runLimited(conversation, tool, { step, log: conversation.log, resumed, find }, run);
  if (!account || !execution) return runWithLimits();
  return execution.guard(connectionTarget(account.source.name, account.id, tool.effect), runWithLimits);
}

/** Runs a read directly, and a write of an execution under its fence. */
async function runLimited(
  { execution, signal }: Conversation,
  tool: RegisteredTool,
  write: WriteStep,
  run: (signal: AbortSignal) => Promise<unknown>,
): Promise<unknown> {
  execution?.limits.lease.progress(maxToolRunMs + (write.step.in_flight_ms ?? 0));
  if (tool.effect !== "write") return run(signal);
  if (execution) return runWrite(write, execution.limits, run);
  await write.log.flush();
  return run(signal);
}

/** A permanent failure, which the model receives as the tool's result. */
const toolError = (message: string) => new Failure(message, { retryable: false });

const wouldPublish = ({ qualifiedName }: RegisteredTool) =>
  `This run is about something private, and ${qualifiedName} cannot restrict who reads what it writes. Nothing was written.`;

/** The arguments of a call. If the tool has a parameter `project` and the model omits it, the event's project is added. */
function readArguments(tool: RegisteredTool, call: ToolCall, project: string | null): Parameters {
  const text = call.arguments;
  if (hasTooManyArguments(call))
    throw toolError(
      `The arguments have more than ${maxArguments.length} characters or ${maxArguments.values} members and list items; send less in one call.`,
    );
  let parsedArguments: unknown;
  try {
    parsedArguments = storable(JSON.parse(text.trim() === "" ? "{}" : text));
  } catch {
    throw toolError("The arguments are not valid JSON.");
  }
  if (typeof parsedArguments !== "object" || parsedArguments === null || Array.isArray(parsedArguments))
    throw toolError("The arguments must be a JSON object.");
  try {
    return tool.parse(withProject(tool, parsedArguments as Parameters, project));
  } catch (error) {
    if (error instanceof BadParameter) throw toolError(`The argument ${error.path || "list"} is not valid: ${error.message}`);
    throw error;
  }
}

function withProject(tool: RegisteredTool, parameters: Parameters, project: string | null): Parameters {
  if (project === null || !tool.takesProject) return parameters;
  const named = parameters.project;
  return named === undefined || named === null || named === "" ? { ...parameters, project } : parameters;
}

/** The account that a tool of a source uses; `null` for all others. */
async function accountFor(conversation: Conversation, tool: RegisteredTool): Promise<Connection | null> {
  if (!tool.source) return null;
  const connection = await conversation.connectionFor(tool.source.name);
  if (connection && connection.missingSettings.length === 0) return connection;
  throw toolError(`${tool.source.name} is not configured: missing ${connection?.missingSettings.join(", ") ?? "all settings"}.`);
}
