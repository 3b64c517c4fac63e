import { setTimeout as sleep } from "node:timers/promises";
import * as executions from "@signalbox/schema/executions";
import * as webhooks from "@signalbox/schema/webhooks";
import type { z } from "zod";
import type { DevInstall } from "./dev-install.ts";
import { singleLine } from "./messages.ts";

type Event = z.output<typeof webhooks.webhookEvent>;
type Receipt = z.output<typeof webhooks.receipt>;
type Execution = z.output<typeof executions.execution>;
type ReplayContext = Omit<DevInstall, "folder">;

/** Maximum wait for executions, in milliseconds. */
const maxWaitMs = 30_000;
const shownText = 300;

/** Replays the last webhook of each source of the plugin, and shows the parsed event and the results of its tasks. */
export async function replayLastWebhook(context: ReplayContext): Promise<void> {
  const sources = Object.keys(context.pluginBuild.manifest.contributes.sources);
  if (sources.length === 0) context.out("Nothing to replay: the plugin contributes no sources.\n");
  for (const source of sources) await replay(source, context);
}

async function replay(source: string, context: ReplayContext): Promise<void> {
  const { service, out } = context;
  const known = await service.call<Event[]>(webhooks.list, { source, limit: 100 });
  const lastWebhook = known.find(({ polled, replay_of }) => !polled && replay_of === null);
  if (!lastWebhook) {
    out(`Nothing to replay: no webhook of ${source} has arrived yet. Send one to ${service.url}/webhook/${source}\n`);
    return;
  }
  const { event_id } = await service.call<Receipt>(webhooks.replay, { id: lastWebhook.id });
  const event = await service.call<Event & { executions: readonly { id: string; task_id: string }[] }>(webhooks.get, {
    id: event_id,
  });
  out(`Replaying the webhook received at ${lastWebhook.received_at}:\n`);
  const read = { event: event.event_name, action: event.action, subject: event.subject, actor: event.actor };
  for (const [name, value] of Object.entries(read)) out(`  ${name.padEnd(8)} ${singleLine(value ?? "(none)")}\n`);
  out(`  triggers ${event.canonical_triggers.join(", ") || "(none)"}\n`);
  if (event.reason !== null) out(`  ${event.outcome}: ${singleLine(event.reason)}\n`);
  const until = Date.now() + maxWaitMs;
  for (const { id } of event.executions) await show(id, until, context);
}

async function show(id: string, until: number, { service, out, signal }: ReplayContext): Promise<void> {
  for (;;) {
    const one = await service.call<Execution>(executions.get, { id });
    const hasEnded = one.finished_at !== null;
    if (!hasEnded && !signal.aborted && Date.now() < until) {
      await sleep(250);
      continue;
    }
    const result = one.error ?? one.result ?? "";
    const text = result.length > shownText ? `${result.slice(0, shownText)}…` : result;
    const where = one.result_url === null ? "" : `, ${one.result_url}`;
    out(`  ${one.task_id}: ${one.state}${where}${hasEnded ? "" : `; to follow it: signalbox task-executions get ${id}`}\n`);
    if (text) out(`    ${singleLine(text)}\n`);
    return;
  }
}
