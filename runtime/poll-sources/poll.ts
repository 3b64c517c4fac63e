import { problem } from "@signalbox/schema/problem";
import type { PollBatch } from "@signalbox/sdk";
import { abortable } from "../platform/abortable.ts";
import type { Sql } from "../platform/database/client.ts";
import { storableText } from "../platform/json.ts";
import { toFailure } from "../platform/remote-calls.ts";
import { maxRetryAfterMs } from "../platform/retry.ts";
import type { Connection } from "../plugins/connections.ts";
import type { Receiver } from "../webhooks/receive.ts";
import { type ClaimedPollSource, finishPoll, type PollSource } from "./queries.ts";
import type { ReportUnreadable } from "./unreadable.ts";

/** Maximum duration of one poll. A source reads in pages, and the next poll continues. */
const pollMs = 300_000;

export interface PollDeps {
  readonly sql: Sql;
  readonly receiver: Receiver;
  /** The account with which a source is polled: the one that receives its webhooks. */
  readonly connectionBySlug: (source: string) => Promise<Connection | undefined>;
  readonly reportUnreadable: ReportUnreadable;
}
interface PollResult {
  readonly fetched: number;
  readonly accepted: number;
  readonly duplicates: number;
}

/**
 * Polls once and passes the events to the receiver of webhooks. The cursor is stored once all events are durable, so a crash
 * loses no events. It may repeat some, which are then duplicates. Throws a `Problem` if the source cannot be polled.
 */
export async function pollOnce(
  pollSource: PollSource,
  lease: string | null,
  signal: AbortSignal,
  deps: PollDeps,
): Promise<PollResult> {
  const { connection, poll } = await sourceOf(pollSource, deps);
  const ask = {
    project: pollSource.project_id,
    since: pollSource.since ?? new Date(Date.parse(pollSource.created_at) - pollSource.interval_minutes * 60_000).toISOString(),
    cursor: pollSource.cursor,
  };
  const call = {
    signal: AbortSignal.any([signal, AbortSignal.timeout(pollMs)]),
    connection: connection.settings,
    key: `poll-${pollSource.id}`,
  };
  let batch: PollBatch;
  try {
    batch = await abortable(poll(ask, call), call.signal);
  } catch (error) {
    // The caller disconnected or this replica stops, so the source has not failed.
    signal.throwIfAborted();
    const { message, retryAfterMs } = toFailure(error);
    const text = storableText(`${pollSource.source} could not be polled: ${message}`.slice(0, 2000));
    await finishPoll(deps.sql, pollSource, lease, {
      error: text,
      waitSeconds: Math.ceil(Math.min(retryAfterMs ?? 0, maxRetryAfterMs) / 1000),
    });
    throw problem("bad_gateway", text, { cause: error });
  }
  deps.reportUnreadable(pollSource, batch.unreadable ?? []);
  const receipts = await Promise.all(batch.events.map((event) => deps.receiver.acceptEvent(connection, event, { kind: "poll" })));
  await finishPoll(deps.sql, pollSource, lease, { cursor: storableText(batch.cursor), error: null });
  const count = (status: string) => receipts.filter((receipt) => receipt.status === status).length;
  return { fetched: receipts.length, accepted: count("accepted"), duplicates: count("duplicate") };
}

/** Stores why a scheduled poll failed before it contacted the source. */
export const refusePoll = (from: ClaimedPollSource, error: string, { sql }: PollDeps): Promise<void> =>
  finishPoll(sql, from, from.lease, { error });

async function sourceOf(from: Pick<PollSource, "source">, { connectionBySlug }: PollDeps) {
  const connection = await connectionBySlug(from.source);
  const source = connection?.source.adapter;
  if (!connection || !source?.poll) {
    throw problem("unavailable", `The source "${from.source}" cannot be polled: no loaded plugin polls it.`);
  }
  if (connection.missingSettings.length > 0) {
    const names = connection.missingSettings.map((name) => `${from.source}_${name}`.toUpperCase()).join(", ");
    throw problem("unavailable", `The source "${from.source}" is not configured: missing ${names}.`);
  }
  return { connection, poll: source.poll.bind(source) };
}
