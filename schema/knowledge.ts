import { z } from "zod";
import { rowId, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

const config = z.record(z.string().max(100), z.unknown());
const settings = {
  name: text(200).describe("Display name."),
  config: config.describe(
    "Settings of the connector. For `wiki`: `base_url`, `space_keys`, `is_cloud`, `email` and `api_token`, which is write-only and stored encrypted.",
  ),
  project_id: rowId.nullish().describe("Project whose agents can search it. Default: all agents can."),
  enabled: z.boolean().describe("Whether it is synced on a schedule. If false, it is only synced on demand. Default: `true`."),
};

export const knowledgeSource = z
  .object({
    id: z.uuid(),
    name: z.string(),
    type: z.string(),
    config: config.describe("Settings of the connector without secrets."),
    project_id: rowId.nullable(),
    enabled: z.boolean(),
    last_synced_at: timestamp.nullable().describe("When the last successful sync started."),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "KnowledgeSource" });

export const ingestionStatus = z.enum(["queued", "running", "succeeded", "failed"]).meta({ id: "IngestionStatus" });

export const ingestionJob = z
  .object({
    id: z.uuid(),
    knowledge_source_id: z.uuid(),
    status: ingestionStatus,
    pages_seen: z.int().describe("Pages listed so far."),
    pages_changed: z.int().describe("New and changed pages indexed so far."),
    pages_deleted: z.int().describe("Pages removed from the index."),
    chunks_written: z.int().describe("New chunks. Unchanged chunks keep their vectors and are not counted."),
    error: z
      .string()
      .nullable()
      .describe("Why the sync failed or is queued again. For a successful sync: which pages could not be read."),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: "IngestionJob" });

export const list = operation({
  id: "knowledge-sources.list",
  http: "GET /api/knowledge-sources",
  rpc: "KnowledgeSourceService.ListKnowledgeSources",
  summary: "List knowledge sources",
  input: z.object(paging),
  output: pageOf(knowledgeSource),
});
export const get = operation({
  id: "knowledge-sources.get",
  http: "GET /api/knowledge-sources/:id",
  rpc: "KnowledgeSourceService.GetKnowledgeSource",
  summary: "Get a knowledge source",
  input: z.object({ id: z.uuid() }),
  output: knowledgeSource,
  problems: ["not_found"],
});
export const create = operation({
  id: "knowledge-sources.create",
  http: "POST /api/knowledge-sources",
  scope: "admin",
  rpc: "KnowledgeSourceService.CreateKnowledgeSource",
  summary: "Create a knowledge source",
  description: "The documents can be searched after the first sync.",
  input: z.object({
    ...settings,
    type: text(63).describe("Name of the connector: `wiki` (Confluence) or the connector of a plugin."),
    enabled: settings.enabled.default(true),
  }),
  output: knowledgeSource,
  status: 201,
  problems: ["unavailable"],
});
export const update = operation({
  id: "knowledge-sources.update",
  http: "PUT /api/knowledge-sources/:id",
  scope: "admin",
  rpc: "KnowledgeSourceService.UpdateKnowledgeSource",
  summary: "Update a knowledge source",
  description: "Replaces the whole `config`, except omitted secrets. A running sync restarts.",
  input: z.object(settings).partial().extend({ id: z.uuid() }),
  output: knowledgeSource,
  problems: ["not_found", "unavailable"],
});
export const remove = operation({
  id: "knowledge-sources.delete",
  http: "DELETE /api/knowledge-sources/:id",
  scope: "admin",
  rpc: "KnowledgeSourceService.DeleteKnowledgeSource",
  summary: "Delete a knowledge source",
  description: "Also deletes its indexed documents.",
  input: z.object({ id: z.uuid() }),
  problems: ["not_found"],
});
export const sync = operation({
  id: "knowledge-sources.sync",
  http: "POST /api/knowledge-sources/:id/sync",
  rpc: "KnowledgeSourceService.SyncKnowledgeSource",
  summary: "Sync a knowledge source",
  description:
    "Updates the index in the background. If a sync is already queued or running, returns that job; one that waits to be retried is tried now.",
  input: z.object({ id: z.uuid() }),
  output: ingestionJob,
  status: 202,
  problems: ["not_found"],
});
export const jobs = operation({
  id: "knowledge-sources.jobs",
  http: "GET /api/knowledge-sources/:id/jobs",
  rpc: "KnowledgeSourceService.ListIngestionJobs",
  summary: "List the ingestion jobs of a knowledge source",
  description: "Newest first.",
  input: z.object({ id: z.uuid(), ...paging }),
  output: pageOf(ingestionJob),
  problems: ["not_found"],
});
