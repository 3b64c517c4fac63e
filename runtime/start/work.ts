import { createLookup } from "../execution/lookup.ts";
import { startQueue } from "../execution/queue.ts";
import { startWriteChecks } from "../execution/write-checks.ts";
import { watchConnected } from "../gateway/connected.ts";
import { startRunner } from "../knowledge/runner.ts";
import { startRelay } from "../message-queues/relay.ts";
import { createEvaluator } from "../platform/evaluator.ts";
import { startScheduler } from "../poll-sources/scheduler.ts";
import { createDeferred } from "../webhooks/deferred/defer.ts";
import { readDeferred } from "../webhooks/deferred/read.ts";
import { createDispatcher } from "../webhooks/dispatch.ts";
import { openMappingRules } from "../webhooks/mapping-rules.ts";
import { createReceiver } from "../webhooks/receive.ts";
import { openRouting } from "../webhooks/routing.ts";
import type { Agents } from "./agents.ts";
import type { Closing } from "./closing.ts";
import type { Foundations } from "./foundations.ts";
import type { Plugins } from "./plugins.ts";

/** Longest wait for running executions at a stop; what is left is continued by another worker. */
const drainMs = 25_000;

/** From events to executions: the receiver of webhooks and, unless the role is `api`, the execution queue and the background work. */
export async function startWork(foundations: Foundations, plugins: Plugins, agents: Agents, closing: Closing) {
  const { config, log, sql, bus, vault, warn, alarm, parallel } = foundations;
  const { connections, accounts, manager } = plugins;
  const routing = await openRouting(sql, bus, log);
  closing.add(() => routing.close());
  const evaluator = createEvaluator();
  closing.add(() => evaluator.close());
  const rules = await openMappingRules({ sql, bus, log, vault, evaluator, warn, alarm });
  closing.add(() => rules.close());
  const works = config.SIGNALBOX_ROLE !== "api";
  const worker = works ? await openWorker(foundations, plugins, agents, closing) : null;
  const wake = () => {
    // Other replicas are woken only if this one has no free slot.
    if (worker && worker.running() < config.WORKER_CONCURRENCY) worker.wake();
    else bus.publish("queue").catch((error) => log.warn("failed to wake other replicas", { error }));
  };
  const dispatcher = createDispatcher({
    ...{ sql, routing, wake, warn, log },
    concurrency: parallel(4),
    replayHours: config.WEBHOOK_REPLAY_HOURS,
  });
  const deferred = createDeferred(sql, { log, alarm, ttl: config.UNREAD_WEBHOOK_TTL });
  closing.add(() => deferred.close());
  const receiver = createReceiver({
    ...{ accounts, rules, evaluator, dispatcher, deferred, log, warn },
    ...{ connectionBySlug: connections.bySlug, environment: connections.environment },
  });
  readDeferred(deferred, receiver, manager);
  const scheduler = works ? startBackground(foundations, plugins, agents, receiver, closing) : null;
  return { routing, evaluator, receiver, scheduler, deferred };
}

/** How often a failed execution is tried again, as `EXECUTION_RETRY_…` says. */
export const retriesOf = ({ config }: Foundations) => ({
  retryLimit: config.EXECUTION_RETRY_LIMIT,
  retryDelaySeconds: config.EXECUTION_RETRY_DELAY_SECONDS,
});

async function openWorker(foundations: Foundations, { connections }: Plugins, { conversation }: Agents, closing: Closing) {
  const { config, log, database, sql, bus, alarm, warn, parallel } = foundations;
  const connected = await watchConnected(sql, bus, log);
  closing.add(() => connected.close());
  const queue = {
    ...{ sql, log, bus, ...conversation, ...retriesOf(foundations), alarm },
    connectionFor: connections.forExecution,
    concurrency: config.WORKER_CONCURRENCY,
    leaseSeconds: config.EXECUTION_LEASE_SECONDS,
    connected: connected.has,
    lookup: createLookup(sql, parallel(2)),
    onlyProcess: database.kind === "embedded",
  };
  const worker = await startQueue(queue);
  const { connectionFor, leaseSeconds } = queue;
  const checks = startWriteChecks({ sql, log, warn, connectionFor, leaseSeconds, tools: conversation.tools });
  closing.add(() => Promise.all([worker.stop(drainMs), checks.stop()]), drainMs + 3_000);
  return worker;
}

/** Polls, syncs of knowledge, and the message queues. */
function startBackground(
  { config, log, sql, bus, vault, warn }: Foundations,
  { host, connections, reach, changed }: Plugins,
  { memory }: Agents,
  receiver: ReturnType<typeof createReceiver>,
  closing: Closing,
) {
  const leaseSeconds = config.EXECUTION_LEASE_SECONDS;
  const connectionBySlug = connections.bySlug;
  const scheduler = startScheduler({ sql, receiver, log, connectionBySlug, leaseSeconds, warn });
  const librarian = startRunner({
    ...{ sql, bus, log, vault, reach, leaseSeconds, watchdog: warn, knowledge: host.knowledge, written: memory.written },
    everyMinutes: config.KNOWLEDGE_SYNC_MINUTES,
  });
  const queueKeeper = startRelay({ sql, queues: host.queues, log });
  changed.push(queueKeeper.changed);
  closing.add(() => Promise.all([scheduler.stop(), librarian.stop(), queueKeeper.stop()]));
  return scheduler;
}
export type Work = Awaited<ReturnType<typeof startWork>>;
