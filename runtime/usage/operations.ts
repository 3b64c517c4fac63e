import type { Input, Output } from "@signalbox/schema/operation";
import * as usage from "@signalbox/schema/usage";
import type { Queryable } from "../platform/database/client.ts";
import { handle } from "../platform/operation.ts";
import { percentile } from "./durations.ts";
import {
  countOpen,
  endOfPortion,
  type Group,
  groupColumns,
  type Period,
  summedDays,
  sumUsage,
  type UsageRow,
} from "./queries.ts";

type Usage = Output<typeof usage.get>;

const dayMs = 86_400_000;
const startOfDay = (ms: number) => Math.floor(ms / dayMs) * dayMs;
const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
/** Later than all times that occur, and within the range of the database. */
const allTime = { from: Date.parse("2000-01-01T00:00:00Z"), to: Date.parse("3000-01-01T00:00:00Z") };

/** Days that are not summed are read in portions of this many executions: right after an upgrade, they may be those of years. */
const portion = 100_000;

export const usageOperation = handle(usage.get, async (input, { sql, signal }) => {
  const groups = [...new Set((input.group_by ?? "").split(",").map((name) => name.trim()))].filter(
    (name) => name !== "",
  ) as Group[];
  const from = input.from ? Date.parse(input.from) : allTime.from;
  const to = input.to ? Date.parse(input.to) : allTime.to;
  const { summedPeriod, remainingPeriods } = split(from, to, await summedDays(sql));
  const [rows, open] = await Promise.all([readUsage(sql, groups, summedPeriod, remainingPeriods, signal), countOpen(sql)]);
  const sums = fold(rows);
  const totals = {
    tokens: sums.tokens,
    tasks: { total: sums.runs, succeeded: sums.succeeded, failed: sums.failed, ...open },
    tool_calls: { total: sums.tool_calls, failed: sums.failed_tool_calls },
  };
  return Object.keys(input).length === 0 ? totals : { ...totals, ...reportOf(input, sums, rows, groups) };
});

/**
 * The sums of the summed days, and of the executions of the other periods. Long ones are read in several statements, which all
 * end in time.
 */
async function readUsage(
  sql: Queryable,
  groups: readonly Group[],
  summedPeriod: Period | null,
  rest: readonly Period[],
  signal: AbortSignal,
): Promise<UsageRow[]> {
  const isShort = ({ from, to }: Period) => Math.min(Date.parse(to), Date.now() + dayMs) - Date.parse(from) <= 2 * dayMs;
  const rows = [await sumUsage(sql, groups, summedPeriod, rest.filter(isShort))];
  for (const period of rest.filter((one) => !isShort(one)))
    for await (const part of portionsOf(sql, period, portion)) {
      signal.throwIfAborted();
      rows.push(await sumUsage(sql, groups, null, [part]));
    }
  return rows.flat();
}

/** The parts of a period, each with about `most` executions, or with a millisecond that has more. */
export async function* portionsOf(sql: Queryable, { from, to }: Period, most: number): AsyncGenerator<Period> {
  for (let start = from; start < to; ) {
    const end = Date.parse((await endOfPortion(sql, { from: start, to }, most)) ?? to);
    const next = new Date(Math.min(Math.max(end, Date.parse(start) + 1), Date.parse(to))).toISOString();
    yield { from: start, to: next };
    start = next;
  }
}

function reportOf(
  input: Input<typeof usage.get>,
  totals: Folded,
  rows: readonly UsageRow[],
  groups: readonly Group[],
): Partial<Usage> {
  const time = (text: string | undefined) => (text ? new Date(text).toISOString() : null);
  return {
    from: time(input.from),
    to: time(input.to),
    ...figuresOf(totals),
    groups: groups.length > 0 ? groupsOf(rows, groups) : [],
  };
}

/** Days that are completely in the range are read from their sums, the rest from the executions themselves. */
export function split(
  from: number,
  to: number,
  known: Period | null,
): { summedPeriod: Period | null; remainingPeriods: Period[] } {
  const period = (start: number, end: number): Period[] =>
    start < end ? [{ from: new Date(start).toISOString(), to: new Date(end).toISOString() }] : [];
  if (!known) return { summedPeriod: null, remainingPeriods: period(from, to) };
  const first = Math.max(startOfDay(from + dayMs - 1), Date.parse(known.from));
  const last = Math.min(startOfDay(to), Date.parse(known.to) + dayMs);
  if (first >= last) return { summedPeriod: null, remainingPeriods: period(from, to) };
  return {
    summedPeriod: { from: dayOf(first), to: dayOf(last - dayMs) },
    remainingPeriods: [...period(from, first), ...period(last, to)],
  };
}

interface Folded {
  readonly tokens: Usage["tokens"];
  runs: number;
  succeeded: number;
  failed: number;
  held: number;
  cost_usd: number;
  unpriced_tokens: number;
  tool_calls: number;
  failed_tool_calls: number;
  readonly durations: Map<number, number>;
}

/** Adds up the rows of one group. */
function fold(rows: readonly UsageRow[]): Folded {
  const sum = (name: keyof UsageRow) => rows.reduce((total, row) => total + (row[name] as number), 0);
  const durations = new Map<number, number>();
  for (const { bucket, runs } of rows) if (bucket !== null) durations.set(bucket, (durations.get(bucket) ?? 0) + runs);
  const [prompt, completion] = [sum("prompt_tokens"), sum("completion_tokens")];
  return {
    tokens: { prompt, completion, total: prompt + completion },
    runs: sum("runs"),
    succeeded: sum("succeeded"),
    failed: sum("failed"),
    held: sum("held"),
    cost_usd: sum("cost_usd"),
    unpriced_tokens: sum("unpriced_tokens"),
    tool_calls: sum("tool_calls"),
    failed_tool_calls: sum("failed_tool_calls"),
    durations,
  };
}

const figuresOf = ({ tokens, runs, failed, held, cost_usd, unpriced_tokens, durations }: Folded) => ({
  runs,
  failed,
  held,
  // The sums have rounding errors, so fractions below a millionth of a cent are removed. If no token has a price, the cost is
  // unknown.
  cost_usd: cost_usd === 0 && unpriced_tokens > 0 && unpriced_tokens >= tokens.total ? null : Math.round(cost_usd * 1e8) / 1e8,
  unpriced_tokens,
  p50_duration_ms: percentile(durations, 0.5),
  p95_duration_ms: percentile(durations, 0.95),
});

function groupsOf(rows: readonly UsageRow[], groups: readonly Group[]): NonNullable<Usage["groups"]> {
  const columns = groups.map((group) => groupColumns[group]);
  const keyOf = (row: UsageRow): { day?: string; month?: string } =>
    Object.fromEntries(columns.map((column) => [column, row[column]]));
  const all = [...Map.groupBy(rows, (row) => JSON.stringify(keyOf(row))).values()].map((members) => {
    const sums = fold(members);
    return { ...keyOf(members[0] as UsageRow), tokens: sums.tokens, tool_calls: sums.tool_calls, ...figuresOf(sums) };
  });
  const time = (one: { day?: string; month?: string }) => one.day ?? one.month ?? "";
  return all.sort(
    (a, b) =>
      time(a).localeCompare(time(b)) ||
      (b.cost_usd ?? 0) - (a.cost_usd ?? 0) ||
      b.tokens.total - a.tokens.total ||
      b.runs - a.runs,
  );
}
