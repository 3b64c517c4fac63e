import { raceTimeout } from "../platform/abortable.ts";
import { databaseTime } from "../platform/clock.ts";
import { batch } from "../platform/database/batch.ts";
import type { Sql } from "../platform/database/client.ts";
import { newId } from "../platform/ids.ts";
import { storableText } from "../platform/json.ts";
import type { Log } from "../platform/log.ts";
import { insertRefused, type RefusedDelivery } from "./refusal-queries.ts";

/** Maximum number per source and day, so that a stranger cannot fill the disk. */
const maxPerDay = 1_000;
const dayMs = 86_400_000;
/** Maximum time that a reader waits for pending writes, in milliseconds. */
const waitMs = 1_000;

export interface Refusals {
  /** Stores a refused delivery without its body. Never throws or delays its caller. */
  add(refused: { source: string; slug: string; headers: Readonly<Record<string, string>>; reason: string }): void;
  /** Resolves once the attempts to store all refusals so far have ended. */
  whenStored(): Promise<void>;
}

/**
 * Stores refused deliveries, so that an operator sees who sends which events and why they were refused. Each source has a daily
 * limit; beyond it, nothing is stored and no query is made.
 */
export function createRefusals(sql: Sql, log: Pick<Log, "warn">): Refusals {
  let day = 0;
  let counts = new Map<string, number>();
  const underWay = new Set<Promise<unknown>>();
  const store = batch(
    async (all: RefusedDelivery[]) => {
      // The day may end meanwhile, and with it these limits.
      const ofDay = counts;
      for (const source of await insertRefused(sql, all, day, maxPerDay)) ofDay.set(source, maxPerDay);
      return all.map(() => null);
    },
    { maxItems: 100, concurrency: 1 },
  );
  return {
    add: ({ source, slug, headers, reason }) => {
      const today = Math.floor(databaseTime() / dayMs) * dayMs;
      if (today !== day) counts = new Map();
      day = today;
      const count = counts.get(source) ?? 0;
      if (count >= maxPerDay) return;
      counts.set(source, count + 1);
      const row = { id: newId(), source, slug: text(slug, 200), event_name: eventIn(headers), reason: text(reason, 500) };
      const storage = store(row)
        .catch((error) => log.warn("failed to store a refused delivery", { source, error }))
        .finally(() => underWay.delete(storage));
      underWay.add(storage);
    },
    whenStored: async () => {
      await raceTimeout(Promise.all(underWay), waitMs, null);
    },
  };
}

const text = (value: string, most: number): string => storableText(value.slice(0, most));

/** The event in the headers: `X-GitHub-Event`, `X-Gitlab-Event` and similar. */
function eventIn(headers: Readonly<Record<string, string>>): string | null {
  const name = Object.keys(headers).find((one) => /^x-[a-z]+-event$/.test(one));
  return name === undefined ? null : text(headers[name] ?? "", 100);
}
