import { startSyncs } from "../knowledge/runner.ts";
import type { Memory } from "../memory/open.ts";
import { startIntake } from "../message-queues/intake.ts";
import { startRelay } from "../message-queues/relay.ts";
import { startPolls } from "../poll-sources/scheduler.ts";
import { startRetention } from "../retention/run.ts";
import type { Core } from "./core.ts";
import type { Plugins } from "./plugins.ts";
import type { Webhooks } from "./webhooks.ts";

/**
 * Polls, syncs of knowledge sources, the relay of message queues, and the intake of webhooks from them. `null` on a replica with
 * the role `api`.
 */
export function startBackground(core: Core, plugins: Plugins, memory: Memory, { receiver, reportUnreadable }: Webhooks) {
  const { config, log, database, sql, bus, vault, warn, shutdown } = core;
  if (config.SIGNALBOX_ROLE === "api") return null;
  const { host, connections, egress, changed } = plugins;
  const leaseSeconds = config.EXECUTION_LEASE_SECONDS;
  const connectionBySlug = connections.bySlug;
  const polls = startPolls({ sql, receiver, reportUnreadable, log, connectionBySlug, leaseSeconds, warn });
  const syncs = startSyncs({
    sql,
    bus,
    log,
    vault,
    leaseSeconds,
    egress,
    warn,
    knowledge: host.knowledge,
    onChunksAdded: memory.onChunksStored,
    everyMinutes: config.KNOWLEDGE_SYNC_MINUTES,
  });
  const relay = startRelay({ sql, queues: host.queues, log, warn });
  const intake = startIntake({ queues: host.queues, receiver, log });
  changed.push(relay.refresh, intake.refresh);
  const retention = startRetention({ sql, log, days: config, embedded: database.kind === "embedded" });
  shutdown.add(() => Promise.all([polls.stop(), syncs.stop(), relay.stop(), intake.stop(), retention.stop()]));
  /** Why a queue fails now, in each direction. */
  const queueFailures = (name: string): string[] => [relay, intake].flatMap((worker) => worker.failureOf(name) ?? []);
  return { polls, retention, queueFailures };
}
export type Background = ReturnType<typeof startBackground>;
