import { problem } from "@signalbox/schema/problem";
import type { Json } from "@signalbox/sdk";
import type { EventNames } from "../platform/event-names.ts";
import type { SourceEntry } from "./host.ts";

/**
 * Asks the source itself, with a payload that contains nothing but the name. A source that reads names from headers has no other
 * names. Third-party sources are not asked, because their process may not be running.
 */
export function eventNamesOf(sources: () => ReadonlyMap<string, SourceEntry>): EventNames {
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
      const named = await read(source, sent);
      const refuse = (member: string, text: string) => problem("bad_request", `${member}: ${text}`, { field: member });
      if (named.event_name !== sent.event_name)
        throw refuse(field, `${source} calls this event "${named.event_name}" here; send that instead of "${sent.event_name}"`);
      if (named.action !== sent.action)
        throw refuse("action", `the event "${sent.event_name}" of ${source} has no action; leave it out`);
      // Some platforms send the action apart from the name, but their events contain both.
      const acted = await read(source, { ...sent, action: sent.action ?? "created" });
      if (acted.event_name !== sent.event_name)
        throw refuse(field, `no event of ${source} is called "${sent.event_name}" here, but for example "${acted.event_name}"`);
    },
  };
}

/** A source that throws for a payload has a defect, which is reported for webhooks. */
const parsed = async ({ adapter }: SourceEntry, payload: Json) => adapter.parse({ headers: {}, payload });
