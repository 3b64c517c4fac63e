import type { Arrival } from "./arrival.ts";

interface Split {
  /** Events that are not copies of each other. */
  readonly first: readonly Arrival[];
  /** Events whose body an earlier one has, each with that event. */
  readonly copies: ReadonlyMap<Arrival, Arrival>;
}

/**
 * Finds the copies among events that arrived together. A copy by body has the body of an earlier event under one of its names. A
 * copy by content has the content of an earlier event from another hook. The result is the same as if the events had arrived one
 * after the other. So a copy by body needs no statement: it adds no names to the body. A copy by content is in neither part: it has
 * a body of its own, which is stored even if the event is not.
 */
export function splitCopies(arrivals: readonly Arrival[]): Split {
  const bodies = new Map<string, Arrival>();
  const contents = new Map<string, Arrival>();
  const first: Arrival[] = [];
  const copies = new Map<Arrival, Arrival>();
  for (const arrival of arrivals) {
    const { event, copy, hookDigest } = arrival;
    const names = (copy?.scopes ?? []).map((scope) => `${scope} ${copy?.digest}`);
    const original = names.flatMap((name) => bodies.get(name) ?? [])[0];
    if (original) {
      copies.set(arrival, original);
      continue;
    }
    for (const name of names) bodies.set(name, arrival);
    const content = hookDigest && event.hook_id !== null ? `${event.source} ${hookDigest}` : null;
    const same = content === null ? undefined : contents.get(content);
    if (same && same.event.hook_id !== event.hook_id) continue;
    if (content !== null && !same) contents.set(content, arrival);
    first.push(arrival);
  }
  return { first, copies };
}
