import type { ToolCall } from "../llm/client.ts";
import { Failure } from "../platform/retry.ts";
import { functionName } from "../tools/function-name.ts";
import { BadParameter, type Parameters, type RegisteredTool } from "../tools/registered-tool.ts";
import { isBlind, runTool } from "../tools/run-tool.ts";
import type { Conversation, ConversationDeps } from "./conversation.ts";
import type { StepRow } from "./steps/queries.ts";

/**
 * One tool call as one step. A write is stored as started before it goes out. What goes wrong for good is told to the
 * model; a passing failure that outlasts its tries ends an attempt that can be made again. `before` is the step that an
 * earlier attempt began and did not finish: its outcome is unknown.
 */
export async function callTool(
  talk: Conversation,
  call: ToolCall,
  before: StepRow | undefined,
  deps: ConversationDeps,
): Promise<StepRow> {
  const { log, plan } = talk;
  const offered = plan.tools.find((name) => functionName(name) === call.name);
  const tool = offered === undefined ? undefined : deps.tools.get(offered);
  const name = offered ?? call.name;
  const step = before ?? log.add({ kind: "tool", state: "started", name, agent_id: plan.agent_id, input: call.arguments });
  const began = performance.now();
  const close = async (state: StepRow["state"], result: { output?: unknown; error?: string }) => {
    const duration_ms = Math.round(performance.now() - began);
    log.complete(step, { state, output: result.output ?? null, error: result.error ?? null, duration_ms });
    await log.flush();
    return step;
  };
  try {
    if (offered === undefined) throw told(`There is no function "${call.name}". Use one of those offered.`);
    if (!tool) throw told(`The tool ${offered} is not there any more.`);
    if (before && isBlind(tool)) {
      throw told(
        "This call was interrupted, and whether it took effect is not known. It was not repeated; look before you call it again.",
      );
    }
    const input = readArguments(tool, call.arguments, talk.project);
    step.input = input;
    if (tool.effect === "write" && !deps.trackerUpdates) return await close("dry_run", { output: { dry_run: true } });
    const connection = await settingsFor(talk, tool);
    const key = `${talk.id}.${step.seq}`;
    step.key = key;
    if (tool.effect === "write" && !before) await log.flush();
    const output = await runTool(tool, input, { connection, key, signal: talk.signal }, before !== undefined);
    return await close("succeeded", { output });
  } catch (error) {
    talk.signal.throwIfAborted();
    if (!(error instanceof Failure) || (error.retryable && talk.resumable)) throw error;
    return await close("failed", { error: error.message });
  }
}

/** A failure that is the model's to deal with. */
const told = (message: string) => new Failure(message, { retryable: false });

/** What a tool is called with: the model's arguments, and the event's project where the tool takes one and none is named. */
function readArguments(tool: RegisteredTool, text: string, project: string | null): Parameters {
  let given: unknown;
  try {
    given = JSON.parse(text.trim() === "" ? "{}" : text);
  } catch {
    throw told("The arguments are not valid JSON.");
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw told("The arguments must be a JSON object.");
  try {
    return tool.parse(withProject(tool, given as Parameters, project));
  } catch (error) {
    if (error instanceof BadParameter) throw told(`The argument ${error.path || "list"} is not valid: ${error.message}`);
    throw error;
  }
}

function withProject(tool: RegisteredTool, given: Parameters, project: string | null): Parameters {
  if (project === null || !tool.takesProject) return given;
  const named = given.project;
  return named === undefined || named === null || named === "" ? { ...given, project } : given;
}

async function settingsFor(talk: Conversation, tool: RegisteredTool): Promise<Record<string, unknown>> {
  if (!tool.source) return {};
  const connection = await talk.connectionOf(tool.source.name);
  if (connection && connection.missing.length === 0) return connection.settings as Record<string, unknown>;
  throw told(`${tool.source.name} is not configured; it lacks: ${connection?.missing.join(", ") ?? "everything"}.`);
}
