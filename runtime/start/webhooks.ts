import { runCommand } from "../executions/commands.ts";
import { forgetWrites } from "../own-writes/queries.ts";
import { createEvaluator } from "../platform/evaluator.ts";
import { createLargeJson } from "../platform/large-json.ts";
import { startLoop } from "../platform/loop.ts";
import { unreadableReports } from "../poll-sources/unreadable.ts";
import { DeferredWebhooks } from "../webhooks/deferred/defer.ts";
import { readDeferred } from "../webhooks/deferred/read.ts";
import { Dispatcher, type DispatcherOptions } from "../webhooks/dispatch.ts";
import { openMappingRules } from "../webhooks/mapping-rules.ts";
import { startPendingCommands } from "../webhooks/pending-commands.ts";
import { createPreviousSecrets } from "../webhooks/previous-secret.ts";
import { compressesWithLz4 } from "../webhooks/queries.ts";
import { Receiver } from "../webhooks/receive.ts";
import { createRefusals } from "../webhooks/refusals.ts";
import { openRouting } from "../webhooks/routing.ts";
import { type Core, concurrencyOf } from "./core.ts";
import type { Plugins } from "./plugins.ts";
import { type Queue, wakeOthersOf } from "./queue.ts";

const forgetEveryMs = 60_000;

/** From webhooks to queued executions. */
export async function openWebhooks(core: Core, { connections, accounts, standings, manager }: Plugins, queue: Queue) {
  const { config, log, database, sql, bus, vault, warn, alarm, shutdown } = core;
  const routing = await openRouting(sql, bus, log);
  shutdown.add(() => routing.close());
  const { evaluator, json } = openReaders(core);
  const rules = await openMappingRules({ sql, bus, log, vault, evaluator, warn, alarm });
  shutdown.add(() => rules.close());
  const wake: DispatcherOptions["wake"] = queue
    ? (newcomer, isDelayed) => queue.takeStored(newcomer, isDelayed)
    : wakeOthersOf(core);
  const commands = openCommands(core, { connections, standings }, wake);
  const dispatcher = new Dispatcher({
    sql,
    routing,
    policies: core.policies,
    warn,
    log,
    wake,
    stored: database.stored,
    ...commands,
    debounceMs: config.UPDATE_DEBOUNCE_SECONDS * 1000,
    concurrency: concurrencyOf(core, 4),
    replayHours: config.WEBHOOK_REPLAY_HOURS,
    loops: { windowSeconds: config.LOOP_WINDOW_SECONDS, cooldownSeconds: config.LOOP_COOLDOWN_SECONDS },
    hasLz4: await compressesWithLz4(sql),
  });
  shutdown.add(startForgetting(core));
  const deferred = new DeferredWebhooks(sql, { log, alarm, ttl: config.DEFERRED_WEBHOOK_TTL });
  shutdown.add(() => deferred.close());
  const refusals = createRefusals(sql, log);
  shutdown.add(() => refusals.whenStored());
  const receiver = new Receiver({
    json,
    accounts,
    standings,
    rules,
    evaluator,
    dispatcher,
    deferred,
    refusals,
    previousSecrets: createPreviousSecrets(sql, log),
    refusesCopies: config.WEBHOOK_REPLAY_HOURS > 0,
    log,
    warn,
    trackerUpdates: config.TRACKER_UPDATES_ENABLED,
    connections,
  });
  readDeferred(deferred, receiver, manager);
  return { routing, rules, standings, evaluator, receiver, deferred, reportUnreadable: unreadableReports(warn) };
}

/** The process that evaluates filters, and the thread that parses large bodies. Both start with their first use. */
function openReaders({ shutdown }: Core) {
  const evaluator = createEvaluator();
  shutdown.add(() => evaluator.close());
  const json = createLargeJson();
  shutdown.add(() => json.close());
  return { evaluator, json };
}

/** Carries out the commands in comments, and looks up what some of them wait for. */
function openCommands(core: Core, { connections, standings }: Pick<Plugins, "connections" | "standings">, wake: () => void) {
  const { config, sql, log, shutdown } = core;
  const cancelled = (ids: readonly string[]) => void endAll(core, ids);
  const carryOut = config.COMMANDS_ENABLED ? runCommand : null;
  const carriedOut: DispatcherOptions["carriedOut"] = (effect, acknowledge) => {
    if (effect.cancelled.length > 0) cancelled(effect.cancelled);
    wake();
    acknowledge?.(effect.isDone);
  };
  const pending = startPendingCommands({
    sql,
    log,
    standings,
    connectionBySlug: connections.bySlug,
    trackerUpdates: config.TRACKER_UPDATES_ENABLED,
    carryOut,
    carriedOut,
    leaseSeconds: config.EXECUTION_LEASE_SECONDS,
  });
  shutdown.add(pending.stop);
  return { cancelled, carryOut, carriedOut, commandWaits: pending.wake };
}

/** Removes old records of own writes. Returns how to stop. */
function startForgetting({ sql, log }: Core): () => Promise<void> {
  const forgetting = startLoop({
    everyMs: forgetEveryMs,
    run: async () => ((await forgetWrites(sql)) ? { pauseMs: 0 } : undefined),
    onError: (error) => log.warn("failed to remove records of own writes", { error }),
  });
  return forgetting.stop;
}

export type Webhooks = Awaited<ReturnType<typeof openWebhooks>>;

/** Ends running executions that were cancelled, on every replica, which frees their subjects. */
async function endAll({ log, bus }: Core, ids: readonly string[]): Promise<void> {
  try {
    for (const id of ids) await bus.publish("cancel", id);
    await bus.publish("queue");
  } catch (error) {
    log.warn("failed to announce cancelled executions; they end when their leases are renewed", { error });
  }
}
