import { sources } from "@signalbox/schema/common";
import { type Json, markersIn } from "@signalbox/sdk";
import { digestsIn, kindsOfEvent } from "../own-writes/own-write.ts";
import { sha256Of } from "../platform/digest.ts";
import type { Arrival } from "./arrival.ts";
import type { Command, CommandName } from "./command.ts";
import type { IncomingEvent } from "./incoming-event.ts";
import { isReported } from "./received-webhook.ts";

/**
 * Maximum size of a body that is compared without the members that differ between hooks, in bytes. Larger ones are compared as a
 * whole.
 */
const maxCompared = 1_048_576;
/** Members of a payload that differ between the hooks of a repository, an organisation and an app. */
const ofHooks = new Set(["hook", "hook_id", "installation", "organization", "enterprise", "business"]);

/** Keys by which an event is recognised as a copy of another, or as our own change. `command`: the command that it gives. */
export function identify(
  incoming: IncomingEvent,
  command: Command | null,
  replayHours: number,
): Pick<Arrival, "copy" | "hookDigest" | "suspect"> {
  const { event, body, replayScopes: scopes = [], origin } = incoming;
  const isNew = isReported(origin);
  return {
    copy: replayHours > 0 && scopes.length > 0 ? { scopes, digest: sha256Of(body) } : null,
    hookDigest: isNew && event.hook_id ? contentDigest(incoming, command) : null,
    suspect: isNew ? suspectOf(incoming) : null,
  };
}

/**
 * The digest of the content that all hooks deliver alike. A command on all that its webhook may control is no copy of the same
 * command by another webhook, which may control more: see `CommandPlace`.
 */
function contentDigest(incoming: IncomingEvent, command: Command | null): string {
  const { slug, payload = null, body } = incoming;
  const digest = sameDigest(incoming) ?? hookDigest(payload, body);
  return command && concernsAll.has(command.name) ? sha256Of(`${slug} ${digest}`) : digest;
}

/** Commands on all executions that their webhook may control. A `/retry` concerns one, and `/stop` those of all webhooks. */
const concernsAll: ReadonlySet<CommandName> = new Set(["approve", "reject", "continue"]);

/** Includes the slug, because projects on different servers of one source can have the same name. */
const sameDigest = ({ event, slug }: IncomingEvent): string | null =>
  event.same_as ? sha256Of(`${slug} ${event.same_as}`) : null;

function hookDigest(payload: Json, body: Uint8Array): string {
  if (body.byteLength > maxCompared || typeof payload !== "object" || payload === null) return sha256Of(body);
  return sha256Of(JSON.stringify(Object.fromEntries(Object.entries(payload).filter(([name]) => !ofHooks.has(name)))));
}

/** An event with a marker, or without an actor, can be our own change. The database compares it with the ledger of our writes. */
function suspectOf({ event, payload = null, viaPath, origin, source }: IncomingEvent): NonNullable<Arrival["suspect"]> | null {
  const comment = event.comment ?? null;
  if (event.marked) return { marks: markersIn(JSON.stringify(payload)), comment, kinds: [], digests: [] };
  const isNameless = event.actor === null && !event.author?.id && !event.author?.name;
  if (!isNameless || event.subject === null || viaPath) return null;
  const kinds = kindsOfEvent(event.event_name, event.action);
  const isVague = origin.kind === "poll" && kinds.includes("edit") && !event.changes?.length && updatedByReactions.has(source);
  return { marks: [], comment, kinds, digests: digestsIn(payload), moved_at: isVague ? event.occurred_at : null };
}

/** Platforms where a reaction changes the update time. For some changes, this time is all that a poll sees. */
const updatedByReactions: ReadonlySet<string> = new Set(["beta"]);
const builtIn = new Set<string>(sources);

/** Whether the marker of an event can be looked up. Third-party plugins may use their own markers, which count as valid. */
export const hasKnownMarker = ({ source, payload = null }: IncomingEvent): boolean =>
  builtIn.has(source) || markersIn(JSON.stringify(payload)).length > 0;
