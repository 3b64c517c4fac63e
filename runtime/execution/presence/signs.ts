import type { EffectivePolicy } from "@signalbox/schema/policy";
import type { Reaction } from "@signalbox/sdk";
import type { Outbox } from "../../outbox/open.ts";
import { endSign, recordSign } from "../../own-writes/queries.ts";
import type { Bus } from "../../platform/bus.ts";
import type { Sql } from "../../platform/database/client.ts";
import { unavailableCause } from "../../platform/database/unavailable.ts";
import { newId } from "../../platform/ids.ts";
import { startLeasedWork } from "../../platform/leases.ts";
import type { Log, Report } from "../../platform/log.ts";
import type { Loop } from "../../platform/loop.ts";
import { toFailure } from "../../platform/remote-calls.ts";
import type { Connection, Connections } from "../../plugins/connections.ts";
import { type Policies, projectKeyOf } from "../../policy/policies.ts";
import { approvalOf } from "../approval.ts";
import { isLiving } from "../living-comment/write-living.ts";
import type { ClaimedExecution } from "../queries.ts";
import {
  beginSign,
  beginSignsOfConnected,
  claimSign,
  finishSign,
  isCurrent,
  postponeSign,
  type Sign,
  signRows,
} from "./queries.ts";
import { type LivingDisplay, showLiving } from "./show-living.ts";

/** Shows on issues that agents work on them. */
export interface Presence {
  /** Watches a run, and shows its progress once it takes long. `end` stops watching. */
  watch(execution: ClaimedExecution): { end(): void };
  /** Call after an execution has ended, to update its sign. */
  wake(): void;
}

interface PresenceOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly policies: Pick<Policies, "of">;
  readonly outbox: Outbox;
  /** Whether anything is written to trackers; a dry run shows nothing. */
  readonly trackerUpdates: boolean;
  readonly connectionFor: Connections["forExecution"];
  /** Lease of an execution, in seconds. */
  readonly leaseSeconds: number;
  /** Writes a warning to the watchdog. */
  readonly warn: Report;
  /** Maximum sleep between two checks, in milliseconds. */
  readonly sweepMs?: number;
}

/** How long a run takes before its issue shows that an agent works on it. */
const quietMs = 3_000;
const signLeaseSeconds = 30;
/** Maximum number of signs that one replica updates at the same time. */
const concurrency = 4;
const callMs = 60_000;
/** Deadline of a check: it may read all comments of an issue several times. */
const recheckMs = 300_000;
/** Signs are best effort: after this many failures, a sign is abandoned. */
const maxAttempts = 4;
/** A check for late writes has more: after an outage, late writes are most likely. */
const maxRecheckAttempts = 20;
/** The first and the longest pause between two tries, in milliseconds. */
const retryMs = { first: 2_000, longest: 120_000 };

/** Shows progress signs: reactions to the text that triggered a run, or living comments. Errors here never fail a run. */
export function startPresence(options: PresenceOptions): Presence & Pick<Loop, "stop"> {
  const { sql, bus, log, sweepMs = 5_000 } = options;
  const worker = startLeasedWork({
    name: "progress on issues",
    sql,
    rows: signRows,
    concurrency,
    leaseSeconds: signLeaseSeconds,
    sweepMs,
    log,
    prepare: () => beginSignsOfConnected(sql, quietMs / 1000),
    claim: claimSign,
    handle: (sign, signal) => carryOut(sign, signal, options),
  });
  bus.on("cancel", worker.wake);
  const begin = async (execution: ClaimedExecution) => {
    if (!options.trackerUpdates || presenceOf(execution, options) === "off") return;
    await beginSign(sql, execution).then(worker.wake, (error) =>
      log.warn("failed to record that an execution is running", { execution_id: execution.id, error }),
    );
  };
  return {
    watch: (execution) => watchRun(execution, begin, worker.wake),
    wake: worker.wake,
    stop: worker.stop,
  };
}

/** Nothing is written until the run takes long, so most runs cost only a timer. A retried run is shown at once. */
function watchRun(
  execution: ClaimedExecution,
  begin: (execution: ClaimedExecution) => Promise<void>,
  onEnd: () => void,
): { end(): void } {
  let hasBegun = false;
  const timer = setTimeout(
    () => {
      hasBegun = true;
      void begin(execution);
    },
    execution.failures > 0 ? 0 : quietMs,
  );
  timer.unref();
  return {
    end: () => {
      clearTimeout(timer);
      // An earlier attempt may have been shown as working.
      if (hasBegun || execution.attempts > 1) onEnd();
    },
  };
}

const presenceOf = (
  work: Pick<ClaimedExecution, "agent_id" | "project_id" | "source" | "project">,
  { policies }: Pick<PresenceOptions, "policies">,
): EffectivePolicy["presence"]["value"] => policies.of(work.agent_id, projectKeyOf(work)).presence.value;

async function carryOut(sign: Sign, signal: AbortSignal, options: PresenceOptions): Promise<void> {
  const { sql, log } = options;
  try {
    const connection = options.trackerUpdates ? await options.connectionFor(sign.source, sign, sign.agent_id) : null;
    const shown = connection && connection.missingSettings.length === 0 ? await show(sign, connection, signal, options) : null;
    await (shown === null ? finishSign(sql, sign) : postponeSign(sql, sign, shown.againMs, shown));
  } catch (error) {
    const { retryable, retryAfterMs = 0, message } = toFailure(error);
    log.info("failed to show progress on an issue", { execution_id: sign.execution_id, sign: sign.sign, error: message });
    const isRecheck = sign.looks !== null;
    const mayRetry = retryable || isRecheck || unavailableCause(error) !== null;
    const again = signal.aborted || (mayRetry && sign.attempts < (isRecheck ? maxRecheckAttempts : maxAttempts));
    const wait = signal.aborted ? 0 : Math.min(retryMs.longest, Math.max(retryMs.first * 2 ** sign.attempts, retryAfterMs));
    await (again ? postponeSign(sql, sign, wait) : finishSign(sql, sign)).catch((second) =>
      log.warn("failed to record the progress shown on an issue", { execution_id: sign.execution_id, error: second }),
    );
  }
}

/** Returns what is shown, if it must be looked at again; otherwise `null`. */
async function show(
  sign: Sign,
  connection: Connection,
  ended: AbortSignal,
  options: PresenceOptions,
): Promise<LivingDisplay | null> {
  const presence = presenceOf(sign, options);
  if (presence === "off") return null;
  const signal = AbortSignal.any([ended, AbortSignal.timeout(sign.looks === null ? callMs : recheckMs)]);
  if (isLiving(presence, connection)) return showLiving(withoutUnapproved(sign, options), connection, signal, options);
  await react(sign, connection, signal, options);
  return null;
}

/** The sign without the reason of a failure if comments need approval: it may quote the model or a connected agent. */
function withoutUnapproved(sign: Sign, { policies }: Pick<PresenceOptions, "policies">): Sign {
  const needsApproval = approvalOf(() => policies.of(sign.agent_id, projectKeyOf(sign)), null).needs("comment");
  return needsApproval && sign.error !== null ? { ...sign, error: hiddenReason } : sign;
}
const hiddenReason = "its run shows the reason, because comments need approval here";

async function react(
  sign: Sign,
  { source: { adapter: source }, settings }: Connection,
  signal: AbortSignal,
  { sql }: Pick<PresenceOptions, "sql">,
): Promise<void> {
  const { execution_id, subject, project, issue, place } = sign;
  if (!source.react || project === null || issue === null || subject === null) return;
  // Another replica may have shown a later sign while this one was frozen.
  if (!(await isCurrent(sql, sign))) return;
  const id = newId();
  await recordSign(sql, { id, execution_id, subject });
  const call = { signal, connection: settings, key: `${sign.execution_id}.sign.${sign.version}` };
  await source.react({ subject: { project, issue }, comment: place?.comment ?? null }, sign.sign as Reaction | null, call);
  await endSign(sql, id);
}
