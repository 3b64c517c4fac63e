import { z } from "zod";
import { rowId, sourceName, text, timestamp, zonedTime } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

const settings = {
  source: sourceName.describe("Source to poll, for example `alpha`."),
  project_id: text(500).describe("Project id on the platform, for alpha `owner/repo`."),
  interval_minutes: z.int().min(1).max(525_600).describe("Minutes between two polls."),
  enabled: z.boolean().describe("Whether the project is polled on a schedule. If false, it is only polled on demand."),
};
const since = zonedTime
  .nullish()
  .describe("The first poll returns changes since this time. Default: `interval_minutes` before the poll source was created.");

export const pollSource = z
  .object({
    id: rowId,
    ...settings,
    since: timestamp.nullable(),
    cursor: z.string().nullable().describe("Position of the last poll, in the source's own format."),
    last_polled_at: timestamp.nullable().describe("When the last poll finished, successfully or not."),
    last_error: z.string().nullable().describe("Why the last poll failed; null if it succeeded."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "PollSource" });

export const list = operation({
  id: "poll-sources.list",
  http: "GET /api/poll-sources",
  rpc: "PollSourceService.ListPollSources",
  summary: "List poll sources",
  input: z.object(paging),
  output: pageOf(pollSource),
});
export const get = operation({
  id: "poll-sources.get",
  http: "GET /api/poll-sources/:id",
  rpc: "PollSourceService.GetPollSource",
  summary: "Get a poll source",
  input: z.object({ id: rowId }),
  output: pollSource,
  problems: ["not_found"],
});
export const create = operation({
  id: "poll-sources.create",
  http: "POST /api/poll-sources",
  rpc: "PollSourceService.CreatePollSource",
  summary: "Create a poll source",
  description: "Polls a project at an interval. The first scheduled poll runs after one interval.",
  input: z.object({ ...settings, since }),
  output: pollSource,
  status: 201,
});
export const update = operation({
  id: "poll-sources.update",
  http: "PUT /api/poll-sources/:id",
  rpc: "PollSourceService.UpdatePollSource",
  summary: "Update a poll source",
  description: "Omitted members keep their values. Changing `source`, `project_id` or `since` resets the cursor.",
  input: z
    .object({ ...settings, since })
    .partial()
    .extend({ id: rowId }),
  output: pollSource,
  problems: ["not_found"],
});
export const remove = operation({
  id: "poll-sources.delete",
  http: "DELETE /api/poll-sources/:id",
  rpc: "PollSourceService.DeletePollSource",
  summary: "Delete a poll source",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
});
export const poll = operation({
  id: "poll-sources.poll",
  http: "POST /api/poll-sources/:id/poll",
  rpc: "PollSourceService.Poll",
  summary: "Poll a source now",
  description: "Ignores the schedule and `enabled`.",
  input: z.object({ id: rowId }),
  output: z
    .object({
      fetched: z.int().describe("Events that the source returned."),
      accepted: z.int().describe("New events that are mapped to a trigger."),
      duplicates: z
        .int()
        .describe("Events that a webhook or an earlier poll had already delivered. The remaining events were discarded."),
    })
    .meta({ id: "PollResult" }),
  problems: ["not_found", "bad_gateway", "unavailable"],
});
