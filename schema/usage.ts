import { z } from "zod";
import { tokens } from "./audit.ts";
import { operation } from "./operation.ts";

export const get = operation({
  id: "usage.get",
  http: "GET /api/usage",
  rpc: "MonitoringService.GetUsage",
  summary: "Get usage totals",
  description: "Returns the tokens, task executions and tool calls of the whole service.",
  output: z
    .object({
      tokens,
      tasks: z.object({ total: z.int(), succeeded: z.int(), failed: z.int(), running: z.int(), queued: z.int() }),
      tool_calls: z.object({ total: z.int(), failed: z.int() }),
    })
    .meta({ id: "Usage" }),
});
