import { fieldProblem } from "@signalbox/schema/problem";
import type { Json } from "@signalbox/sdk";
import type { EventNames } from "../platform/event-names.ts";
import type { SourceEntry } from "./host.ts";

/**
 * Asks the source itself, with a payload that contains nothing but the name. A source that reads names from headers has no other
 * names. Third-party sources are not asked, because their process may not be running. `isKnown`: whether a source certainly has
 * events of this name.
 */
export function eventNamesOf(
  sources: () => ReadonlyMap<string, SourceEntry>,
  isKnown: (source: string, eventName: string) => boolean,
): EventNames {
  const read: EventNames["read"] = async (source, sent) => {
    const entry = sources().get(source);
    if (!entry || entry.sandboxed) return sent;
    const { event_name: name, action } = sent;
    const payload = { webhookEvent: name, event: name, type: name, ...(action !== null && { action }) };
    const event = await parsed(entry, payload).catch(() => null);
    return event && event.event_name !== "" ? { event_name: event.event_name, action: event.action } : sent;
  };
  return {
    read,
    check: async (source, sent, field) => {
      const { event_name: name } = await read(source, { event_name: sent, action: null });
      if (name === sent || !isKnown(source, name)) return;
      const text = `${source} calls this event "${name}" here; send that instead of "${sent}"`;
      throw fieldProblem(field, text);
    },
  };
}

/** A source that throws for a payload has a defect, which is reported for webhooks. */
const parsed = async ({ adapter }: SourceEntry, payload: Json) => adapter.parse({ headers: {}, payload });
