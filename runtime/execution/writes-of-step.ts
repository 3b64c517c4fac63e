import type { NewComment, PostedComment } from "@signalbox/sdk";
import type { Connections } from "../plugins/connections.ts";
import type { Parameters } from "../tools/registered-tool.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { PostInput } from "./post.ts";
import type { WriteCheck } from "./write-check-queries.ts";

interface WritesOptions {
  readonly tools: Pick<ToolRegistry, "get">;
  readonly connectionFor: Connections["forExecution"];
}

/** The writes of one step at the platform. */
export interface Writes {
  /** All existing ones, oldest first. */
  readonly find: () => Promise<readonly unknown[]>;
  /** Removes one of them. `null` if the platform does not support it. */
  readonly remove: ((write: unknown) => Promise<void>) | null;
  readonly write: () => Promise<unknown>;
}

/** Returns `null` if they cannot be found, for example because the account or the tool no longer exists. */
export async function writesOfStep(check: WriteCheck, signal: AbortSignal, options: WritesOptions): Promise<Writes | null> {
  if (check.key === null) return null;
  return check.kind === "post"
    ? writesOfPost(check, check.key, signal, options)
    : writesOfTool(check, check.key, signal, options);
}

async function writesOfPost(
  check: WriteCheck,
  key: string,
  signal: AbortSignal,
  { connectionFor }: WritesOptions,
): Promise<Writes | null> {
  const connection = await connectionFor(check.source, check, check.agent_id);
  const post = postOf(check);
  if (!connection || !post) return null;
  const { findAll, retract, deliver } = connection.source.adapter;
  if (!findAll) return null;
  const call = { signal, connection: connection.settings, key };
  return {
    find: () => findAll(post, call),
    remove: retract ? (comment) => retract(post, comment as PostedComment, call) : null,
    write: () => deliver(post, call),
  };
}

async function writesOfTool(
  check: WriteCheck,
  key: string,
  signal: AbortSignal,
  { tools, connectionFor }: WritesOptions,
): Promise<Writes | null> {
  const tool = check.name === null ? undefined : tools.get(check.name);
  const { findAll, retract } = tool ?? {};
  if (!tool || !findAll) return null;
  const connection = tool.source ? await connectionFor(tool.source.name, check, check.agent_id) : null;
  if (tool.source && !connection) return null;
  const use = { signal, connection: (connection?.settings ?? {}) as Record<string, unknown>, key, private: check.private };
  const input = check.input as Parameters;
  return {
    find: () => findAll(input, use),
    remove: retract ? (output) => retract(input, output, use) : null,
    write: () => tool.run(input, use),
  };
}

/** The comment of a step that posts. */
export const postOf = ({ project, issue, input }: WriteCheck): NewComment | null =>
  project === null || issue === null ? null : { subject: { project, issue }, body: "", ...(input as PostInput | null) };
