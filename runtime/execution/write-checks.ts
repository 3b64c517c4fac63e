import type { PostedComment } from "@signalbox/sdk";
import type { Sql } from "../platform/database/client.ts";
import { startLeasedWork } from "../platform/leases.ts";
import type { Log, Report } from "../platform/log.ts";
import type { Loop } from "../platform/loop.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Parameters } from "../tools/registered-tool.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import type { PostInput } from "./post.ts";
import {
  checkRows,
  claimWriteCheck,
  finishWriteCheck,
  postponeWriteCheck,
  replaceOutput,
  type WriteCheck,
} from "./write-check-queries.ts";

export interface WriteCheckOptions {
  readonly sql: Sql;
  readonly log: Log;
  readonly tools: Pick<ToolRegistry, "get">;
  readonly connectionFor: (
    source: string,
    work: Pick<WriteCheck, "slug" | "project_id">,
    agentId: string | null,
  ) => Promise<Connection | null>;
  /** Writes a warning to the watchdog. */
  readonly warn: Report;
  readonly leaseSeconds: number;
  /** Longest sleep between two looks, milliseconds. */
  readonly sweepMs?: number;
}

/** Checks that one replica makes at the same time. */
const concurrency = 2;
/** Deadline of one check: reading all comments of an issue takes several requests. */
const checkMs = 90_000;
const retryMs = 30_000;
const maxAttempts = 20;
/** Waits between the looks: a tracker may carry out a request long after its client is gone. */
const lookAgainMs: readonly number[] = [15_000, 60_000, 300_000];

/** All writes of one step that are at the platform, oldest first, and how one of them is removed. */
interface Writes {
  readonly found: readonly unknown[];
  readonly remove: ((write: unknown) => Promise<void>) | null;
}

/**
 * Looks again for writes that two workers may have made: one was frozen between the check of its lease and the request, say.
 * Of several writes with one key the oldest remains; the others are removed where the platform allows it.
 */
export function startWriteChecks(options: WriteCheckOptions): Loop {
  const { sql, log, leaseSeconds, sweepMs = 5_000 } = options;
  return startLeasedWork({
    name: "a check for duplicate writes",
    sql,
    rows: checkRows,
    concurrency,
    leaseSeconds,
    sweepMs,
    log,
    claim: (lease) => claimWriteCheck(sql, lease, leaseSeconds),
    carryOut: (check, lost, stopping) => carryOut(check, AbortSignal.any([lost, stopping]), options),
  });
}

async function carryOut(check: WriteCheck, ended: AbortSignal, options: WriteCheckOptions): Promise<void> {
  const { sql, log } = options;
  const signal = AbortSignal.any([ended, AbortSignal.timeout(checkMs)]);
  try {
    // An attempt is still running, and finds the first write itself.
    if (check.state === "started" && check.attempts < maxAttempts) return await postponeWriteCheck(sql, check, retryMs);
    const writes = await findWrites(check, signal, options);
    if (writes && writes.found.length > 1) await removeDuplicates(check, writes, options);
    const wait = lookAgainMs[check.attempts - 1];
    await (wait === undefined || writes === null ? finishWriteCheck(sql, check) : postponeWriteCheck(sql, check, wait));
  } catch (error) {
    log.warn("failed to check for duplicate writes", { execution: check.execution_id, step: check.step_id, error });
    await (check.attempts < maxAttempts || ended.aborted
      ? postponeWriteCheck(sql, check, ended.aborted ? 0 : retryMs)
      : abandon(check, error, options)
    ).catch((second) => log.warn("failed to postpone a check for duplicate writes", { error: second }));
  }
}

async function findWrites(check: WriteCheck, signal: AbortSignal, options: WriteCheckOptions): Promise<Writes | null> {
  const { project, issue, source, key } = check;
  if (key === null) return null;
  if (check.kind === "post") {
    const connection = await options.connectionFor(source, check, check.agent_id);
    const { findAll, retract } = connection?.source.adapter ?? {};
    if (!connection || !findAll || project === null || issue === null) return null;
    const post = { subject: { project, issue }, body: "", ...(check.input as PostInput | null) };
    const call = { signal, connection: connection.settings, key };
    return {
      found: await findAll(post, call),
      remove: retract ? (comment) => retract(post, comment as PostedComment, call) : null,
    };
  }
  const tool = check.name === null ? undefined : options.tools.get(check.name);
  if (!tool?.findAll) return null;
  const connection = tool.source ? await options.connectionFor(tool.source.name, check, check.agent_id) : null;
  if (tool.source && !connection) return null;
  const use = { signal, connection: (connection?.settings ?? {}) as Record<string, unknown>, key };
  const input = check.input as Parameters;
  const { retract } = tool;
  return { found: await tool.findAll(input, use), remove: retract ? (output) => retract(input, output, use) : null };
}

async function removeDuplicates(check: WriteCheck, { found, remove }: Writes, { sql, warn }: WriteCheckOptions): Promise<void> {
  const [kept, ...duplicates] = found;
  const context = {
    execution_id: check.execution_id,
    step: check.step_id,
    write: check.kind === "post" ? check.source : check.name,
    kept: urlOf(kept),
    duplicates: duplicates.map(urlOf),
  };
  if (!remove) return warn("a write was made twice, and the platform cannot remove it: remove the duplicate by hand", context);
  for (const duplicate of duplicates) await remove(duplicate);
  if (check.state === "succeeded") await replaceOutput(sql, check, kept, urlOf(kept));
  warn("a write was made twice; the newer one was removed", context);
}

async function abandon(check: WriteCheck, error: unknown, { sql, warn }: WriteCheckOptions): Promise<void> {
  warn("a write may have been made twice, and could not be checked", {
    execution_id: check.execution_id,
    step: check.step_id,
    write: check.name,
    error: error instanceof Error ? error.message : String(error),
  });
  await finishWriteCheck(sql, check);
}

const urlOf = (write: unknown): string | null => {
  const url = (write as { url?: unknown } | null)?.url;
  return typeof url === "string" ? url : null;
};
