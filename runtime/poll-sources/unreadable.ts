import { truncate, type UnreadableItem } from "@signalbox/sdk";
import type { Report } from "../platform/log.ts";
import type { PollSource } from "./queries.ts";

/** Maximum number of items that are remembered as reported, in all poll sources together. */
const maxReported = 10_000;
/** Maximum number of items that one entry names. */
const maxNamed = 20;

export type ReportUnreadable = (of: PollSource, unreadable: readonly UnreadableItem[]) => void;

/** Reports the items that polls skipped: at most one entry for each poll, which names the items that no earlier entry counted. */
export function unreadableReports(warn: Report): ReportUnreadable {
  const reported = new Set<string>();
  return ({ id, source, project_id }, unreadable) => {
    const found: string[] = [];
    for (const { item, reason } of unreadable) {
      const text = `${truncate(item, 200)}: ${truncate(reason, 500)}`;
      const key = `${id} ${text}`;
      if (reported.has(key)) continue;
      reported.add(key);
      found.push(text);
    }
    // The oldest first.
    for (const key of reported) {
      if (reported.size <= maxReported) break;
      reported.delete(key);
    }
    if (found.length === 0) return;
    const items = found.slice(0, maxNamed);
    warn("poll skipped unreadable items", { poll_source: id, source, project: project_id, items, count: found.length });
  };
}
