import { createHash } from "node:crypto";
import { sources } from "@signalbox/schema/common";
import { type Json, markersIn } from "@signalbox/sdk";
import { digestsIn, kindsOfEvent } from "../own-writes/own-write.ts";
import type { Incoming } from "./decide.ts";
import type { Arrival } from "./queries.ts";

/** Largest body that is compared without what differs between hooks, in bytes; a larger one is compared as it is. */
const maxCompared = 1_048_576;
/** Members of a payload that differ between the hooks of a repository, an organisation and an app. */
const ofHooks = new Set(["hook", "hook_id", "installation", "organization", "enterprise", "business"]);

/** By what an event is recognised as a copy of another, or as a change of our own. */
export function identify(incoming: Incoming, replayHours: number): Pick<Arrival, "digest" | "hookDigest" | "suspect"> {
  const { event, body, payload = null, signed, replayOf, own } = incoming;
  const isNew = replayOf === undefined && !own;
  return {
    digest: replayHours > 0 && signed ? sha256(body) : null,
    hookDigest: isNew && event.hook_id ? hookDigest(payload, body) : null,
    suspect: isNew ? suspectOf(incoming) : null,
  };
}

const sha256 = (content: Uint8Array | string): string => createHash("sha256").update(content).digest("hex");

function hookDigest(payload: Json, body: Uint8Array): string {
  if (body.byteLength > maxCompared || typeof payload !== "object" || payload === null) return sha256(body);
  return sha256(JSON.stringify(Object.fromEntries(Object.entries(payload).filter(([name]) => !ofHooks.has(name)))));
}

/** An event whose text carries a marker, or that names no actor, may be a change of our own: the database knows what we wrote. */
function suspectOf({ event, payload = null, viaPath }: Incoming): NonNullable<Arrival["suspect"]> | null {
  const comment = event.comment ?? null;
  if (event.marked) return { marks: markersIn(JSON.stringify(payload)), comment, kinds: [], digests: [] };
  const isNameless = event.actor === null && !event.author?.id && !event.author?.name;
  if (!isNameless || event.subject === null || viaPath) return null;
  return { marks: [], comment, kinds: kindsOfEvent(event.event_name, event.action), digests: digestsIn(payload) };
}

const builtIn = new Set<string>(sources);

/** Whether the marker of an event can be looked up. Plugins of other people may mark in ways of their own, and are believed. */
export const hasKnownMarker = ({ source, payload = null }: Incoming): boolean =>
  builtIn.has(source) || markersIn(JSON.stringify(payload)).length > 0;
