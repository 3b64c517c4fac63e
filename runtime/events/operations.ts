import { namesIn } from "@signalbox/schema/history";
import { problem } from "@signalbox/schema/problem";
import * as webhooks from "@signalbox/schema/webhooks";
import type { Json } from "@signalbox/sdk";
import { isDeeperThan, maxDepth, storable } from "../platform/json.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { unpack } from "../platform/packing/packed.ts";
import { findMeant } from "../subject-names/queries.ts";
import { readable, unreadableOf } from "../transcripts/stored-steps.ts";
import type { Receiver } from "../webhooks/receive.ts";
import { bulkOfEvents } from "./bulk.ts";
import { findEvent, findRefused, listEvents, listExecutionsOfEvent, listRefused } from "./queries.ts";
import { replayEvent, requireReplayable } from "./replay.ts";

const notFound = (id: string) => problem("not_found", `There is no webhook event ${id}.`);
/** The payload as JSON, or as text if it is nested too deeply to be serialized again. Null if it was removed or cannot be read. */
function toBody(event: { readonly body_removed_at: string | null }, body: Uint8Array) {
  if (event.body_removed_at !== null) return { payload: null };
  const payload = readable("payload", () => {
    const utf8 = unpack(body);
    const text = Buffer.from(utf8).toString("utf8");
    return isDeeperThan(maxDepth, utf8) ? text : storable(JSON.parse(text) as Json);
  });
  return { payload: payload.value, ...unreadableOf(payload) };
}

/** `sources`: names of the sources that a subject may belong to. */
export function eventOperations(receiver: Receiver, sources: () => Iterable<string>): BoundOperation[] {
  return [
    handle(webhooks.list, async ({ subject, fields, ...filter }, { sql }) => {
      const subjects = subject === undefined ? undefined : await findMeant(sql, subject, sources());
      if (filter.outcome === "refused") {
        await receiver.refusalsStored();
        return listRefused(sql, { ...filter, subjects });
      }
      const page = await listEvents(sql, { ...filter, subjects, whole: namesIn(fields).includes("payload") });
      const withPayload = ({ body, ...event }: (typeof page.items)[number]) =>
        body ? { ...event, ...toBody(event, body) } : event;
      return { ...page, items: page.items.map(withPayload) };
    }),
    handle(webhooks.get, async ({ id }, { sql }) => {
      const event = await findEvent(sql, id);
      const refused = event ? undefined : await findRefused(sql, id);
      if (refused) return { ...refused, payload: null, executions: [] };
      if (!event) throw notFound(id);
      const { headers: _, body, ...members } = event;
      return { ...members, ...toBody(event, body), executions: await listExecutionsOfEvent(sql, id) };
    }),
    handle(webhooks.replay, async ({ id, ...replay }, { sql }) => {
      const event = await findEvent(sql, id);
      if (!event && (await findRefused(sql, id)))
        throw problem("wrong_state", "The delivery was refused, so its payload is not stored; send it again from the platform.");
      if (!event) throw notFound(id);
      await requireReplayable(sql, replay);
      return replayEvent(event, replay, receiver);
    }),
    bulkOfEvents(receiver, sources),
  ];
}
