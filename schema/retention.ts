import { z } from "zod";
import { rowId } from "./common.ts";
import { operation } from "./operation.ts";

const table = z
  .object({
    name: z.string(),
    rows: z.int().describe("Number of rows, estimated for large tables."),
    bytes: z.int().describe("Size on disk with indexes, in bytes."),
    bytes_per_day: z
      .int()
      .nullable()
      .describe("Average growth in bytes per day over the last 30 days; null before the second day."),
  })
  .meta({ id: "StorageTable" });

const rule = z
  .object({
    what: z.string().describe("Data that is removed."),
    setting: z.string().nullable().describe("Environment variable that sets the period; null if the period is fixed."),
    days: z.int().describe("Days after which it is removed. 0: never."),
    due: z
      .int()
      .describe(
        "Number of items that are removed within the next hour, at most 10,000. Data of executions that have not ended is kept and does not count.",
      ),
  })
  .meta({ id: "RetentionRule" });

export const storage = operation({
  id: "storage.get",
  http: "GET /api/storage",
  summary: "Get storage",
  description: "Returns the rows, size and growth of each table, and what retention will remove.",
  output: z
    .object({
      bytes: z.int().describe("Size of the database, in bytes."),
      tables: z.array(table).describe("Tables, largest first."),
      retention: z.array(rule),
    })
    .meta({ id: "Storage" }),
});

export const erase = operation({
  id: "data.erase",
  http: "POST /api/erase",
  rpc: "MonitoringService.EraseData",
  summary: "Erase stored data",
  description:
    "Removes the stored data of an issue, a person or a project: payloads, transcripts, results, tool calls and the memories made from them. Unfinished executions are cancelled. Ids, states and times are kept, so that a repeated delivery is still recognised as a duplicate. Webhooks waiting for their plugin, and payloads that it could not parse, are removed if they contain the name, or the project and the number of the issue. If a webhook that was waiting for its plugin is delivered again after that, it is recognised by the id of its queue message, if its source names no deliveries, or by its body, if `WEBHOOK_REPLAY_HOURS` is set; otherwise it is stored as a new event. This cannot be undone. Before an erasure begins, the audit log records who requested it, as `data.erase.start`; then the counts, or, unless the database failed, the error of an erasure that was interrupted. Instead of the person's name, it stores a token: if `ENCRYPTION_KEY` is set, the same one for each erasure of that name, else a random one.",
  input: z.object({
    subject: z
      .string()
      .trim()
      .min(1)
      .max(2_000)
      .optional()
      .describe("Issue: `acme/webshop#42`, `CONF-7`, its URL, or `alpha:acme/webshop#42` as listed."),
    actor: z
      .string()
      .trim()
      .min(1)
      .max(500)
      .optional()
      .describe("Login or account id of the person who caused the events. Case is ignored."),
    project_id: rowId
      .optional()
      .describe("Project, by its id. For a deleted project, this erases its memories; erase its issues by `subject`."),
    dry_run: z.boolean().default(false).describe("Whether only to count what would be removed. Default: `false`."),
  }),
  isPreview: ({ dry_run }) => dry_run,
  output: z
    .object({
      dry_run: z.boolean(),
      subject: z.string().nullable(),
      subjects: z.array(z.string()).describe("The stored issues that `subject` names, for example alpha:acme/webshop#42."),
      actor: z.string().nullable(),
      project_id: rowId.nullable(),
      events: z.int().describe("Webhook events whose payload, headers and author were removed."),
      executions: z.int().describe("Executions whose text and result were removed."),
      cancelled: z.int().describe("Of these, unfinished executions that were cancelled."),
      steps: z.int().describe("Transcript steps that were removed, including tool calls."),
      memories: z.int().describe("Memories that were deleted."),
    })
    .meta({ id: "Erasure" }),
  scope: "admin",
  problems: ["not_found"],
});
