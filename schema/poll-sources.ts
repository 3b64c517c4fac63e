import { z } from "zod";
import { rowId, sourceName, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

const settings = {
  source: sourceName.describe("A source that can be polled, for example `alpha`."),
  project_id: text(500).describe("The project as the platform names it; for alpha `owner/repo`."),
  interval_minutes: z.int().min(1).max(525_600).describe("Minutes between two polls."),
  enabled: z.boolean().describe("`false`: polled only on demand."),
};
const since = z.iso
  .datetime({ offset: true })
  .nullish()
  .describe("The first poll tells of what changed since then; without it, since `interval_minutes` before the creation.");

export const pollSource = z
  .object({
    id: rowId,
    ...settings,
    since: timestamp.nullable(),
    cursor: z.string().nullable().describe("How far it was read, in the source's own words."),
    last_polled_at: timestamp.nullable().describe("When the last poll ended, good or not."),
    last_error: z.string().nullable().describe("Why the last poll failed; null after a good one."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "PollSource" });

export const list = operation({
  id: "poll-sources.list",
  http: "GET /api/poll-sources",
  rpc: "PollSourceService.ListPollSources",
  summary: "List the projects that are polled.",
  input: z.object(paging),
  output: pageOf(pollSource),
});
export const get = operation({
  id: "poll-sources.get",
  http: "GET /api/poll-sources/:id",
  rpc: "PollSourceService.GetPollSource",
  summary: "Get one poll source.",
  input: z.object({ id: rowId }),
  output: pollSource,
  problems: ["not_found"],
});
export const create = operation({
  id: "poll-sources.create",
  http: "POST /api/poll-sources",
  rpc: "PollSourceService.CreatePollSource",
  summary: "Poll a project on an interval. The first scheduled poll comes after one interval.",
  input: z.object({ ...settings, since }),
  output: pollSource,
  status: 201,
});
export const update = operation({
  id: "poll-sources.update",
  http: "PUT /api/poll-sources/:id",
  rpc: "PollSourceService.UpdatePollSource",
  summary: "Change some members of a poll source. Another source, project or `since` begins anew, without the cursor.",
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
  summary: "Stop polling a project.",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
});
export const poll = operation({
  id: "poll-sources.poll",
  http: "POST /api/poll-sources/:id/poll",
  rpc: "PollSourceService.Poll",
  summary: "Poll now, whatever the schedule says and also where it is not enabled.",
  input: z.object({ id: rowId }),
  output: z
    .object({
      fetched: z.int().describe("Events that the source told of."),
      accepted: z.int().describe("Those that were new and stand for a trigger."),
      duplicates: z
        .int()
        .describe("Those that a webhook or an earlier poll had told of. What is in neither number was discarded."),
    })
    .meta({ id: "PollResult" }),
  problems: ["not_found", "bad_gateway", "unavailable"],
});
