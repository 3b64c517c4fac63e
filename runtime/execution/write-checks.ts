import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import { newId } from "../platform/ids.ts";
import { postponeRow } from "../platform/lease-queries.ts";
import { startLeasedWork } from "../platform/leases.ts";
import type { Log, Report } from "../platform/log.ts";
import type { Loop } from "../platform/loop.ts";
import { writeOnce } from "../platform/remote-calls.ts";
import type { Connections } from "../plugins/connections.ts";
import type { ToolRegistry } from "../tools/registry.ts";
import { correctLiving, recheckDelaysMs, warnOfLateWrites } from "./living-comment/correct-living.ts";
import { removeIfNeeded } from "./remove-if-needed.ts";
import {
  checkRows,
  claimWriteCheck,
  finishWriteCheck,
  recordCheck,
  replaceOutput,
  type WriteCheck,
} from "./write-check-queries.ts";
import { windowMsOf } from "./write-window.ts";
import { postOf, type Writes, writesOfStep } from "./writes-of-step.ts";

interface WriteCheckOptions {
  readonly sql: Sql;
  readonly log: Log;
  readonly tools: Pick<ToolRegistry, "get">;
  readonly connectionFor: Connections["forExecution"];
  /** Writes a warning to the watchdog. */
  readonly warn: Report;
  readonly leaseSeconds: number;
  /** Maximum sleep between two looks, in milliseconds. */
  readonly sweepMs?: number;
}

/** Maximum number of checks that one replica makes at the same time. */
const concurrency = 2;
/** Deadline of one check: reading all comments of an issue takes several requests. */
const checkMs = 90_000;
/** The same for a living comment: it may read them once for each lost write. */
const livingCheckMs = 300_000;
const retryMs = 30_000;
/** A check waits for a started step for so many claims. */
const maxWaits = 20;
/** Claims without a look that succeeds: those that wait for the step, and 20 that fail. */
const maxAttempts = maxWaits + 20;

/**
 * Looks again for writes that two workers may have made, for example because one was frozen between the check of its lease and
 * the request. Of several writes with one key, the oldest remains; the others are removed if the platform allows it. If a person
 * removes the oldest at the same moment, it is written again.
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
    claim: claimWriteCheck,
    handle: (check, signal) => carryOut(check, signal, options),
  });
}

async function carryOut(check: WriteCheck, signal: AbortSignal, options: WriteCheckOptions): Promise<void> {
  const { sql, log } = options;
  const limitedSignal = (ms: number) => AbortSignal.any([signal, AbortSignal.timeout(ms)]);
  try {
    if (check.unreadable !== undefined) throw new Error(check.unreadable);
    // An attempt is still running, and finds the first write itself.
    if (check.state === "started" && check.attempts <= maxWaits) return await postponeRow(sql, checkRows, check, retryMs);
    const isCounted = await keepOldest(check, limitedSignal(checkMs), options);
    const isKnown = check.is_living
      ? (await correctAnswer(check, limitedSignal(livingCheckMs), options)) || isCounted
      : isCounted;
    const wait = recheckDelaysMs[check.looks];
    await (wait === undefined || !isKnown ? finishWriteCheck(sql, check) : recordCheck(sql, check, wait));
  } catch (error) {
    log.warn("failed to check for duplicate writes", { execution_id: check.execution_id, step: check.step_id, error });
    await (check.attempts < maxAttempts || signal.aborted
      ? postponeRow(sql, checkRows, check, signal.aborted ? 0 : retryMs)
      : abandon(check, error, options)
    ).catch((second) => log.warn("failed to postpone a check for duplicate writes", { error: second }));
  }
}

/** Returns `false` if the number of existing writes cannot be determined. */
async function keepOldest(check: WriteCheck, signal: AbortSignal, options: WriteCheckOptions): Promise<boolean> {
  const { sql, warn } = options;
  const writes = await writesOfStep(check, signal, options);
  if (!writes) return false;
  const { find, remove } = writes;
  const copies = await find();
  if (copies.length < 2) {
    // An earlier check may have removed the stored one, and then failed.
    if (copies.length === 1 && isOther(check, copies[0])) await replaceOutput(sql, check, copies[0], urlOf(copies[0]));
    return true;
  }
  const context = {
    execution_id: check.execution_id,
    step: check.step_id,
    write: check.kind === "post" ? check.source : check.name,
    kept: urlOf(copies[0]),
    duplicates: copies.slice(1).map(urlOf),
  };
  if (!remove) {
    warn("a write was made twice, and the platform cannot remove it: remove the duplicate by hand", context);
    return true;
  }
  const { left, hasRemoved } = await removeNewer(copies, find, remove, signal);
  const isLost = left.length === 0 && hasRemoved;
  const [remaining] = isLost ? [await writeAgain(writes, context, signal, options)] : left;
  if (remaining !== undefined && check.state === "succeeded") await replaceOutput(sql, check, remaining, urlOf(remaining));
  const outcome = isLost ? "both were removed at the same time, so it was written again" : "the newer one was removed";
  if (hasRemoved) warn(`a write was made twice; ${outcome}`, { ...context, kept: urlOf(remaining) });
  if (left.length > 1) throw new Error("the platform still lists a duplicate after its removal");
  return true;
}

/**
 * Removes all but the oldest. Looks before each removal and after the last one, because a person may remove the oldest at any time. A
 * platform with a delayed list still lists removed comments, so the number of removals is limited.
 */
async function removeNewer(
  copies: readonly unknown[],
  find: Writes["find"],
  remove: NonNullable<Writes["remove"]>,
  signal: AbortSignal,
): Promise<{ left: readonly unknown[]; hasRemoved: boolean }> {
  let left = copies;
  let hasRemoved = false;
  for (let removals = copies.length - 1; removals > 0 && left.length > 1; removals--) {
    const newest = left.at(-1);
    const removal = await removeIfNeeded(
      () => remove(newest),
      async () => (await find()).length > 1,
      signal,
    );
    hasRemoved ||= removal.mayHaveWorked;
    const found = await find();
    if (removal.error !== null && found.length >= left.length) throw removal.error;
    left = found;
  }
  return { left, hasRemoved };
}

function writeAgain(
  { find, write }: Writes,
  context: object,
  signal: AbortSignal,
  { warn }: WriteCheckOptions,
): Promise<unknown> {
  return writeOnce(async () => (await find())[0] ?? null, write, signal, false).catch((error) => {
    warn("a write was made twice, and both were removed at the same time: write it again by hand", { ...context, kept: null });
    throw error;
  });
}

/** Whether a write that succeeded stored another result than this one, which the platform no longer lists. */
const isOther = ({ state, output, is_edited }: WriteCheck, found: unknown): boolean => {
  const [storedId, remainingId] = [output, found].map((one) => (one as { id?: unknown } | null)?.id);
  return state === "succeeded" && !is_edited && remainingId !== undefined && storedId !== remainingId;
};

/** Returns `false` if the content of the answer's living comment cannot be determined. */
async function correctAnswer(check: WriteCheck, signal: AbortSignal, options: WriteCheckOptions): Promise<boolean> {
  const { source, execution_id, agent_id, subject, key } = check;
  const connection = await options.connectionFor(source, check, agent_id);
  const post = postOf(check);
  if (!connection || !post || subject === null || key === null) return false;
  const correction = await correctLiving(
    {
      sql: options.sql,
      connection,
      key: `${key}.${newId()}`,
      firstKey: key,
      executionId: execution_id,
      agentId: agent_id,
      subject,
      post,
      decide: () => ({ kind: "show", text: post }),
      windowMs: windowMsOf(options.leaseSeconds),
      isShown: ({ answered_by }) => answered_by === execution_id,
      isLastCheck: recheckDelaysMs[check.looks] === undefined,
    },
    signal,
  );
  warnOfLateWrites(correction, { execution_id, step: check.step_id, write: source }, options.warn);
  return true;
}

async function abandon(check: WriteCheck, error: unknown, { sql, warn }: WriteCheckOptions): Promise<void> {
  warn("a write may have been made twice, and could not be checked", {
    execution_id: check.execution_id,
    step: check.step_id,
    write: check.name,
    error: messageOf(error),
  });
  await finishWriteCheck(sql, check);
}

const urlOf = (write: unknown): string | null => {
  const url = (write as { url?: unknown } | null)?.url;
  return typeof url === "string" ? url : null;
};
