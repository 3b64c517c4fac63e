import { events } from "@signalbox/schema/bulk";
import { Problem, problem } from "@signalbox/schema/problem";
import { previewOrChange } from "../platform/confirmation.ts";
import { type BoundOperation, type Context, handle } from "../platform/operation.ts";
import { findMeant } from "../subject-names/queries.ts";
import type { Receiver } from "../webhooks/receive.ts";
import type { ReplayOptions } from "../webhooks/received-webhook.ts";
import { countReplayable, nextReplayable, type Replayable, sampleReplayable } from "./bulk-queries.ts";
import { replayEvent, replayIdOf, requireReplayable } from "./replay.ts";

/** Maximum number of events that one call replays, and that are read together, because each includes its payload. */
const max = 2_000;
const portion = 20;
const samples = 10;
const firstId = "00000000-0000-0000-0000-000000000000";

/** Replays the events that match a filter, oldest first, after confirmation. */
export const bulkOfEvents = (receiver: Receiver, sources: () => Iterable<string>): BoundOperation =>
  handle(events, async ({ action, filter, expect, confirm, ...replay }, context) => {
    const { sql } = context;
    await requireReplayable(sql, replay);
    const request = { action, filter, replay };
    const { subject, ...rest } = filter;
    const subjects = subject === undefined ? undefined : await findMeant(sql, subject, sources());
    const outcome = await previewOrChange(
      { request, confirm, expect, max, noun: "events" },
      {
        select: (upTo): Replayable => ({ filter: { ...rest, subjects }, upTo }),
        count: (selection) => countReplayable(sql, selection, max),
        samples: (selection) => sampleReplayable(sql, selection, samples),
        change: (selection, token) => replayAll(selection, { replay, token }, receiver, context),
      },
    );
    return { action, filter, ...outcome };
  });

async function replayAll(
  selection: Replayable,
  { replay, token }: { readonly replay: ReplayOptions; readonly token: string },
  receiver: Receiver,
  { sql, signal }: Context,
) {
  const totals = { changed: 0, skipped: 0, first_error: null as string | null };
  for (let afterId = firstId; ; ) {
    signal.throwIfAborted();
    const rows = await nextReplayable(sql, selection, afterId, portion);
    const last = rows.at(-1);
    if (!last) return totals;
    for (const event of rows) {
      try {
        const receipt = await replayEvent(event, replay, receiver, replayIdOf(event.id, token, selection.upTo));
        if (receipt.status === "duplicate") throw problem("already_exists", "This confirmation has already replayed the event.");
        totals.changed++;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        totals.skipped++;
        totals.first_error ??= error.message;
      }
    }
    afterId = last.id;
  }
}
