import type { Policy } from "@signalbox/schema/policy";
import type { Sql } from "../platform/database/client.ts";
import { type LimitScope, readBudgets, readHops, readPauses } from "./limit-queries.ts";

interface LimitVerdict {
  readonly check: string;
  readonly passes: boolean;
  readonly reason: string;
}

interface LimitOptions {
  readonly settings: Policy;
  readonly windowSeconds: number;
  /** Maximum number of consecutive events that answer our writes (0: no limit), and the reason for holding more. */
  readonly hops: { readonly max: number; readonly reason: string };
}

/** Current loops, budgets and pauses that would hold or delay executions that passed the rules. */
export async function limitVerdicts(sql: Sql, scope: LimitScope, options: LimitOptions): Promise<LimitVerdict[]> {
  const { settings, windowSeconds, hops } = options;
  const budgets = await readBudgets(sql, settings, scope);
  const pauses = await readPauses(sql, scope);
  const loop = scope.subject === null || windowSeconds === 0 || hops.max === 0 ? null : await readHops(sql, scope, windowSeconds);
  return [
    { check: "loop", passes: loop === null || loop <= hops.max, reason: loopReason(loop, options) },
    ...budgets.map(({ member, level, is_used_up, reason }) => ({
      check: `budget.${member}${level === "settings" ? "" : `.${level}`}`,
      passes: !is_used_up,
      reason,
    })),
    ...pauses.map(({ scope, id, reason }) => ({
      check: "pause",
      passes: false,
      reason: `${scope === "all" ? "everything" : `${scope} ${id}`} is paused: ${reason}`,
    })),
  ];
}

function loopReason(hops: number | null, { windowSeconds, hops: limit }: LimitOptions): string {
  if (hops === null) return "loops are not limited";
  if (hops > limit.max) return limit.reason.replace("{hops}", String(hops));
  const events = hops === 1 ? "this event" : `${hops} events in a row on this issue, this one included,`;
  return `${events} came within ${windowSeconds} s of a write by Signalbox; the limit is ${limit.max} in a row`;
}
