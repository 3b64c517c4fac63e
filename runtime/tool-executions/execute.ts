import { setImmediate } from "node:timers/promises";
import { fieldProblem, type Problem, problem } from "@signalbox/schema/problem";
import type { PluginErrorShape } from "@signalbox/sdk";
import { UnattachedSteps } from "../execution/steps/unattached-steps.ts";
import { toolWrite } from "../own-writes/own-write.ts";
import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import { Failure } from "../platform/retry.ts";
import type { Connections } from "../plugins/connections.ts";
import { BadParameter, type Parameters, type RegisteredTool } from "../tools/registered-tool.ts";
import { runTool } from "../tools/run-tool.ts";
import { findToolExecution, type ToolExecution } from "./queries.ts";

export interface ExecuteDeps {
  readonly connectionFor: Connections["forExecution"];
  readonly trackerUpdates: boolean;
}

/** Runs one tool outside of any task, and records it. */
export async function executeTool(
  tool: RegisteredTool,
  parameters: Parameters,
  { sql, signal }: { sql: Sql; signal: AbortSignal },
  deps: ExecuteDeps,
): Promise<ToolExecution> {
  const input = parse(tool, parameters);
  const write = tool.effect === "write";
  const dry = write && !deps.trackerUpdates;
  const connection = dry ? {} : await settingsFor(tool, deps);
  const log = new UnattachedSteps(sql, null);
  const step = log.add({ kind: "tool", state: dry ? "dry_run" : "started", name: tool.qualifiedName, input });
  step.key = `${step.id}.0`;
  if (dry) {
    log.complete(step, { output: { dry_run: true } });
  } else {
    if (write) step.wrote = toolWrite(step, tool, input, { execution_id: null, subject: null });
    if (write) await log.flush();
    const startedAt = performance.now();
    const took = () => Math.round(performance.now() - startedAt);
    try {
      // A write continues even if its caller disconnects, so that its outcome is stored.
      const until = write ? new AbortController().signal : signal;
      const output = await runTool(tool, input, { connection, key: step.key, signal: until }, false);
      // A large result is not stored in the same tick of the event loop in which it was parsed.
      await setImmediate();
      log.complete(step, { state: "succeeded", output: output ?? null, duration_ms: took() });
    } catch (error) {
      const fault = toProblem(tool, error);
      log.complete(step, { state: "failed", error: fault.message, duration_ms: took() });
      await log.flush();
      throw fault;
    }
  }
  await log.flush();
  return (await findToolExecution(sql, step.id)) as ToolExecution;
}

function parse(tool: RegisteredTool, parameters: Parameters): Parameters {
  try {
    return tool.parse(parameters);
  } catch (error) {
    if (!(error instanceof BadParameter)) throw error;
    const field = error.path ? `parameters.${error.path}` : "parameters";
    throw fieldProblem(field, error.message);
  }
}

async function settingsFor(tool: RegisteredTool, deps: ExecuteDeps): Promise<Record<string, unknown>> {
  if (!tool.source) return {};
  const connection = await deps.connectionFor(tool.source.name);
  if (connection && connection.missingSettings.length === 0) return connection.settings as Record<string, unknown>;
  const missing =
    connection?.missingSettings.map((name) => `${tool.provider}_${name}`.toUpperCase()).join(", ") ?? "its settings";
  throw problem("unavailable", `${tool.provider} is not configured: missing ${missing}.`);
}

/** What a failed run means for the caller. */
function toProblem(tool: RegisteredTool, error: unknown): Problem {
  const { code } = ((error as Error | null)?.cause ?? {}) as Partial<PluginErrorShape>;
  const message = messageOf(error);
  const failure = error instanceof Failure ? error : null;
  if (code === "invalid_input") return problem("bad_request", `parameters: ${message}`, { field: "parameters", cause: error });
  const text = `${tool.qualifiedName}: ${message}`;
  if (code === "not_configured") return problem("unavailable", text, { cause: error });
  const after = failure?.retryAfterMs;
  return problem("bad_gateway", text, { cause: error, ...(after !== undefined && { retryAfter: after / 1000 }) });
}
