import { z } from "zod";
import { tokens } from "./audit.ts";
import { zonedTime } from "./common.ts";
import { nearestName } from "./nearest.ts";
import { operation } from "./operation.ts";

/** What usage can be grouped by. */
export const usageGroups = ["day", "month", "project", "agent", "model", "task", "source"] as const;
type UsageGroup = (typeof usageGroups)[number];

function unknownGroup(name: string): string {
  const suggestion = nearestName(name, usageGroups);
  const help = suggestion ? `did you mean "${suggestion}"?` : `it takes ${usageGroups.join(", ")}`;
  return name === ""
    ? `has an empty name; it takes ${usageGroups.join(", ")}`
    : `usage is not grouped by ${JSON.stringify(name.slice(0, 100))}; ${help}`;
}

const figures = {
  runs: z.int().describe("Number of executions created."),
  failed: z.int().describe("Number of executions that failed."),
  held: z.int().describe("Number of executions currently held."),
  cost_usd: z
    .number()
    .nullable()
    .describe(
      "Cost in US dollars, as reported by the LLM proxy or by `MODEL_PRICES`. Does not include `unpriced_tokens`; null if no token has a price.",
    ),
  unpriced_tokens: z.int().describe("Tokens of model calls with an unknown price."),
  p50_duration_ms: z
    .int()
    .nullable()
    .describe("Median duration in milliseconds of finished executions, accurate to 10 %; null if there are none."),
  p95_duration_ms: z.int().nullable().describe("95th percentile of the duration in milliseconds, accurate to 10 %."),
};

const group = z
  .object({
    day: z.iso.date().optional().describe("Day in UTC."),
    month: z.string().optional().describe("Month in UTC, for example 2026-01."),
    project_id: z.int().nullish(),
    agent_id: z.string().nullish(),
    model: z.string().nullish(),
    task_id: z.string().nullish(),
    source: z.string().nullish(),
    tokens,
    tool_calls: z.int(),
    ...figures,
  })
  .meta({ id: "UsageGroup" });

export const get = operation({
  id: "usage.get",
  http: "GET /api/usage",
  rpc: "MonitoringService.GetUsage",
  summary: "Get usage",
  description:
    "Returns the tokens, task executions and tool calls of the whole service. With `from`, `to` or `group_by`, returns those of a period, with costs and durations. An execution counts on the day in UTC on which it was created.",
  input: z.object({
    from: zonedTime.optional().describe("Start of the period, inclusive."),
    to: zonedTime.optional().describe("End of the period, exclusive."),
    group_by: z
      .string()
      .optional()
      .superRefine((text, { addIssue }) => {
        const unknown = text?.split(",").find((name) => !usageGroups.includes(name.trim() as UsageGroup));
        if (unknown !== undefined) addIssue({ code: "custom", message: unknownGroup(unknown.trim()) });
      })
      .describe(`What to group by, comma-separated: ${usageGroups.join(", ")}.`),
  }),
  output: z
    .object({
      tokens,
      tasks: z.object({
        total: z.int().describe("Executions created in the period, in any state, including held, waiting and cancelled ones."),
        succeeded: z.int().describe("Those that succeeded."),
        failed: z.int().describe("Those that failed."),
        running: z.int().describe("Executions that are running now, whenever they were created."),
        queued: z.int().describe("Executions that are queued now, whenever they were created."),
      }),
      tool_calls: z.object({ total: z.int(), failed: z.int() }),
      from: z.iso.datetime().nullish().describe("Start of the period; null if it has none."),
      to: z.iso.datetime().nullish().describe("End of the period; null if it has none."),
      ...z.object(figures).partial().shape,
      groups: z
        .array(group)
        .optional()
        .describe("One item per group, most expensive first; grouped by day or month, oldest first."),
    })
    .meta({ id: "Usage" }),
});
