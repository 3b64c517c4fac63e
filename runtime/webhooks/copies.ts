import type { Arrival } from "./arrival.ts";

interface Split {
  /** Events that are not copies of each other. */
  readonly first: readonly Arrival[];
  /** The others, each with the event that it is a copy of. */
  readonly copies: ReadonlyMap<Arrival, Arrival>;
}

/**
 * Finds the copies among events that arrived together: those with a body that an earlier one has under one of their names, and
 * those with the content of an earlier one from another hook. As if they arrived one after the other, a copy adds no names.
 */
export function splitCopies(arrivals: readonly Arrival[]): Split {
  const bodies = new Map<string, Arrival>();
  const contents = new Map<string, Arrival>();
  const copies = new Map<Arrival, Arrival>();
  for (const arrival of arrivals) {
    const { event, copy, hookDigest } = arrival;
    const names = (copy?.scopes ?? []).map((scope) => `${scope} ${copy?.digest}`);
    const content = hookDigest && event.hook_id !== null ? `${event.source} ${hookDigest}` : null;
    const same = content === null ? undefined : contents.get(content);
    const original =
      names.flatMap((name) => bodies.get(name) ?? [])[0] ?? (same?.event.hook_id === event.hook_id ? undefined : same);
    if (original) {
      copies.set(arrival, original);
      continue;
    }
    for (const name of names) bodies.set(name, arrival);
    if (content !== null && !same) contents.set(content, arrival);
  }
  return { first: arrivals.filter((arrival) => !copies.has(arrival)), copies };
}
