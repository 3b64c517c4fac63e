import type { Connection } from "../plugins/connections.ts";
import type { ToolEntry } from "../plugins/host.ts";
import { Failure } from "./attempts.ts";
import type { ToolCall } from "./llm.ts";
import type { Run, RunDeps } from "./run.ts";
import { readArguments, runTool } from "./tools.ts";
import type { StepRow } from "./transcript/queries.ts";

interface ToolStep {
  readonly call: ToolCall;
  /** `undefined` where the model names a function that was not offered. */
  readonly tool: ToolEntry | undefined;
  /** The step that an earlier attempt began and did not finish: its outcome is unknown. */
  readonly before: StepRow | undefined;
  readonly agentId: string | null;
}

/**
 * One tool call as one step. A write is stored as started before it goes out. What goes wrong for good is told to the
 * model; a passing failure that outlasts its tries ends the attempt.
 */
export async function callTool(run: Run, { call, tool, before, agentId }: ToolStep, deps: RunDeps): Promise<void> {
  const { transcript, execution } = run;
  const write = tool?.tool.effect === "write";
  const step =
    before ??
    transcript.add({
      kind: "tool",
      state: "started",
      name: tool?.qualifiedName ?? call.name,
      agent_id: agentId,
      input: call.arguments,
    });
  const began = performance.now();
  const close = async (state: StepRow["state"], result: { output?: unknown; error?: string }) => {
    transcript.settle(step, {
      state,
      output: result.output ?? null,
      error: result.error ?? null,
      duration_ms: Math.round(performance.now() - began),
    });
    await transcript.flush();
  };
  try {
    if (!tool) throw new Failure(`There is no function "${call.name}". Use one of those offered.`, { retryable: false });
    const input = readArguments(tool, call.arguments, execution.project);
    step.input = input;
    if (write && !deps.trackerUpdates) return await close("dry_run", { output: { dry_run: true } });
    const connection = await connectionOf(run, tool, agentId, deps);
    const key = `${execution.id}.${step.seq}`;
    step.key = key;
    if (write && !before) await transcript.flush();
    const output = await runTool(tool, input, { connection, key, signal: run.signal }, before !== undefined);
    await close("succeeded", { output });
  } catch (error) {
    run.signal.throwIfAborted();
    if (!(error instanceof Failure) || error.retryable) throw error;
    await close("failed", { error: error.message });
  }
}

async function connectionOf(run: Run, tool: ToolEntry, agentId: string | null, deps: RunDeps): Promise<Connection | null> {
  if (!tool.source) return null;
  const connection = await deps.connectionFor(tool.source.name, run.execution, agentId);
  if (!connection || connection.missing.length > 0) {
    throw new Failure(`${tool.source.name} is not configured; it lacks: ${connection?.missing.join(", ") ?? "everything"}.`, {
      retryable: false,
    });
  }
  return connection;
}
