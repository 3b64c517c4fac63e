import type { PluginErrorShape } from "@signalbox/sdk";
import type { z } from "zod";
import type { Connection } from "../plugins/connections.ts";
import type { Host, ToolEntry } from "../plugins/host.ts";
import { attempt, Failure } from "./attempts.ts";

/** Deadline of one call of a plugin, its own waiting for a tracker's Retry-After included. */
const callMs = 90_000;

/**
 * The tools offered to an agent: those that `allowed_tools` names, else those of the event's source and of every provider
 * that is not a source.
 */
export function offeredTools(host: Host, source: string | null, allowed: readonly string[] | null): ToolEntry[] {
  const all = [...host.tools.values()];
  if (allowed) return all.filter((tool) => allowed.includes(tool.qualifiedName) || allowed.includes(`${tool.provider}.*`));
  return all.filter((tool) => tool.source === null || source === null || tool.provider === source);
}

/** Function names may not hold a dot. */
export const functionName = (tool: ToolEntry): string => tool.qualifiedName.replace(".", "__");

export const toFunction = (tool: ToolEntry) => ({
  name: functionName(tool),
  description: tool.tool.about,
  parameters: tool.parameters,
});

/** What a tool is called with: the model's arguments, and the event's project where the tool takes one and none is named. */
export function readArguments(tool: ToolEntry, text: string, project: string | null): z.output<z.ZodObject> {
  let given: unknown;
  try {
    given = JSON.parse(text.trim() === "" ? "{}" : text);
  } catch {
    throw new Failure("The arguments are not valid JSON.", { retryable: false });
  }
  const filled = withProject(tool, given, project);
  const parsed = tool.tool.input.safeParse(filled);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Failure(`The argument ${issue?.path.join(".") || "list"} is not valid: ${issue?.message}`, { retryable: false });
}

function withProject(tool: ToolEntry, given: unknown, project: string | null): unknown {
  const takesProject = project !== null && "project" in tool.tool.input.shape;
  if (!takesProject || typeof given !== "object" || given === null || Array.isArray(given)) return given;
  const named = (given as { project?: unknown }).project;
  return named === undefined || named === null || named === "" ? { ...given, project } : given;
}

export interface PluginCall {
  readonly connection: Connection | null;
  readonly key: string;
  readonly signal: AbortSignal;
}

const asCall = ({ connection, key, signal }: PluginCall) => ({
  connection: (connection?.settings ?? {}) as Record<string, unknown>,
  key,
  signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
});

/**
 * Runs a tool. A write of which an earlier try may have arrived is looked for first: `again` says that this is such a
 * case; every further try within this call is one too.
 */
export function runTool(tool: ToolEntry, input: z.output<z.ZodObject>, call: PluginCall, again: boolean): Promise<unknown> {
  const { find } = tool.tool;
  const look = find && !tool.tool.idempotent ? () => find(input, asCall(call)) : undefined;
  return settle(look, async () => tool.tool.output.parse(await tool.tool.run(input, asCall(call))), call.signal, again);
}

/** Looks where an earlier try may have succeeded, then acts; up to three times. */
export function settle<T>(
  find: (() => Promise<T | null>) | undefined,
  act: () => Promise<T>,
  signal: AbortSignal,
  again: boolean,
): Promise<T> {
  return attempt(async (made) => {
    try {
      if (find && (again || made > 1)) {
        const found = await find();
        if (found !== null) return found;
      }
      return await act();
    } catch (error) {
      signal.throwIfAborted();
      throw toFailure(error);
    }
  }, signal);
}

/** A plugin's error by its members: an installed plugin has its own copy of the error's class. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const shape = error as Partial<PluginErrorShape> | null;
  const message = error instanceof Error ? error.message : String(error);
  const timedOut = error instanceof Error && (error.name === "TimeoutError" || error.name === "AbortError");
  return new Failure(message, {
    retryable: shape?.retryable === true || timedOut,
    retryAfterMs: typeof shape?.retry_after_ms === "number" ? shape.retry_after_ms : undefined,
    cause: error,
  });
}
