import { z } from "zod";
import { text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const pauseScope = z.enum(["all", "project", "agent", "source"]).meta({ id: "PauseScope" });

/** What runs no new executions until it is resumed. */
export const pause = z
  .object({
    scope: pauseScope,
    id: z.string().nullable().describe("Id of the project or agent, or name of the source; null for `all`."),
    reason: z.string(),
    paused_by: z.string().describe("Name of the API key; `anonymous` while there are no keys."),
    paused_at: timestamp,
  })
  .meta({ id: "Pause" });

const pauseMembers = {
  scope: pauseScope.describe("What to pause: everything, one project, one agent, or one source."),
  id: z
    .union([z.string().min(1).max(200), z.int()])
    .optional()
    .describe("Id of the project or agent, or name of the source. Required unless the scope is `all`."),
};

export const list = operation({
  id: "pauses.list",
  http: "GET /api/pause",
  rpc: "MonitoringService.ListPauses",
  summary: "List pauses",
  input: z.object(paging),
  output: pageOf(pause),
});
export const create = operation({
  id: "pauses.pause",
  http: "POST /api/pause",
  rpc: "MonitoringService.Pause",
  summary: "Pause executions",
  description:
    "Webhooks are still accepted and stored, and their executions wait. Nothing in the scope starts on any replica; executions in progress finish. Pausing again replaces the reason.",
  input: z.object({
    ...pauseMembers,
    reason: text(500).describe("Reason for the pause, shown by waiting executions and the status."),
  }),
  output: pause,
});
export const remove = operation({
  id: "pauses.resume",
  http: "POST /api/resume",
  rpc: "MonitoringService.Resume",
  summary: "Resume executions",
  description: "Ends one pause and returns it. Other pauses of the same executions remain.",
  input: z.object(pauseMembers),
  output: pause,
  problems: ["not_found"],
});
