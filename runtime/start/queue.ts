import { openBreakers } from "../breakers/breakers.ts";
import { startNotices } from "../budgets/notices.ts";
import { concurrentRuns } from "../execution/concurrency.ts";
import { createDescriptions } from "../execution/describe.ts";
import { LiveWorkers } from "../execution/live-workers.ts";
import { createLookup } from "../execution/lookup.ts";
import { startPresence } from "../execution/presence/signs.ts";
import { startQueue as start } from "../execution/queue.ts";
import { startWriteChecks } from "../execution/write-checks.ts";
import { startExpiry } from "../executions/proposals/expiry.ts";
import { watchConnectedAgents } from "../gateway/connected-agents.ts";
import { batch } from "../platform/database/batch.ts";
import { settingsPolicy } from "../policy/settings.ts";
import type { ConversationParts } from "./conversation.ts";
import { type Core, concurrencyOf } from "./core.ts";
import type { Plugins } from "./plugins.ts";

/** Maximum wait for running executions at a stop, in milliseconds. Other workers resume the rest. */
const drainMs = 25_000;
/** Time after the drain for releasing the rest, which takes a few statements. */
const releaseMs = 3_000;

/** The retries of a failed execution, from `EXECUTION_RETRY_…`. */
export const retriesOf = ({ config }: Core) => ({
  retryLimit: config.EXECUTION_RETRY_LIMIT,
  retryDelaySeconds: config.EXECUTION_RETRY_DELAY_SECONDS,
});

/** How long work is held: a loop, and proposals that wait for approval. */
const holdsOf = ({ config }: Core) => ({
  loops: { windowSeconds: config.LOOP_WINDOW_SECONDS, cooldownSeconds: config.LOOP_COOLDOWN_SECONDS },
  approvalTtlMs: config.APPROVAL_TTL_DAYS === 0 ? null : Math.min(config.APPROVAL_TTL_DAYS, 36_500) * 86_400_000,
});

/** Lets other replicas claim executions. Events that arrive while a message is sent share the next one. */
export function wakeOthersOf({ log, bus }: Core): () => void {
  const publish = async (all: null[]) => {
    await bus.publish("queue");
    return all;
  };
  const wake = batch(publish, { maxItems: Number.POSITIVE_INFINITY, concurrency: 1 });
  return () => void wake(null).catch((error) => log.warn("failed to wake other replicas", { error }));
}

/** Finds workers that have ended, if a listening connection is a separate session of the server. */
async function openWorkers({ config, database, log, shutdown }: Core): Promise<LiveWorkers> {
  const keepsSession = database.keepsSessions && config.REPLICA_BUS === "postgres";
  const workers = await LiveWorkers.open({ database, log }, keepsSession);
  shutdown.add(() => workers.close());
  return workers;
}

/** The queue of executions. `null` on a replica with the role `api`. */
export async function startQueue(core: Core, { connections, standings }: Plugins, conversation: ConversationParts) {
  const { config, log, database, sql, bus, policies, alarm, warn, shutdown } = core;
  if (config.SIGNALBOX_ROLE === "api") return null;
  const connected = await watchConnectedAgents(sql, bus, log);
  shutdown.add(() => connected.close());
  const leaseSeconds = config.EXECUTION_LEASE_SECONDS;
  const connectionFor = connections.forExecution;
  const shared = { sql, log, warn, leaseSeconds, connectionFor, trackerUpdates: config.TRACKER_UPDATES_ENABLED };
  const presence = startPresence({ ...shared, bus, policies, outbox: conversation.outbox });
  const notices = startNotices(shared);
  const breakers = await openBreakers({
    sql,
    bus,
    log,
    delaySeconds: config.EXECUTION_RETRY_DELAY_SECONDS,
    holdAfterSeconds: config.OUTAGE_HOLD_HOURS * 3600,
    report: (level, message, context) => (level === "error" ? alarm : core.inform)(message, context),
  });
  shutdown.add(() => breakers.close());
  const workers = await openWorkers(core);
  const queue = await start({
    ...conversation,
    ...retriesOf(core),
    sql,
    log,
    bus,
    alarm,
    policies,
    breakers,
    workers,
    wakeOthers: wakeOthersOf(core),
    presence,
    ...holdsOf(core),
    connectionFor,
    standings,
    leaseSeconds,
    concurrency: concurrentRuns(config.WORKER_CONCURRENCY, database.kind === "embedded"),
    connected: connected.has,
    descriptions: createDescriptions(log),
    lookup: createLookup(sql, concurrencyOf(core, 2)),
    onlyProcess: database.kind === "embedded",
    settings: settingsPolicy(config),
    // A dry run posts nothing on its issue.
    onHeld: async (execution) => {
      if (!execution.dry_run) await notices.notifyHeld(execution, execution.held_reason ?? "", execution.held_until);
    },
  });
  const checks = startWriteChecks({ sql, log, warn, connectionFor, leaseSeconds, tools: conversation.tools });
  const others = [checks, startExpiry(sql, log), presence, notices];
  shutdown.add(() => Promise.all([queue.stop(drainMs), ...others.map((one) => one.stop())]), drainMs + releaseMs);
  return queue;
}
export type Queue = Awaited<ReturnType<typeof startQueue>>;
