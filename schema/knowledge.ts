import { z } from "zod";
import { rowId, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

const config = z.record(z.string().max(100), z.unknown());
const settings = {
  name: text(200),
  config: config.describe(
    "Settings of the connector. wiki: `base_url`, `space_keys`, `is_cloud`, `email`, `api_token`; the token is encrypted, and never shown again.",
  ),
  project_id: rowId.nullish().describe("Project whose agents are told of it; without one, all agents are."),
  enabled: z.boolean().describe("`false`: synced only on demand."),
};

export const knowledgeSource = z
  .object({
    id: z.uuid(),
    name: z.string(),
    type: z.string(),
    config: config.describe("Without what is secret."),
    project_id: rowId.nullable(),
    enabled: z.boolean(),
    last_synced_at: timestamp.nullable().describe("When the last sync that succeeded began: the index is at least as new."),
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
    pages_seen: z.int().describe("Pages that the other side listed so far."),
    pages_changed: z.int().describe("Pages, new ones among them, that were read and indexed so far."),
    pages_deleted: z.int().describe("Pages that left the index."),
    chunks_written: z.int().describe("Chunks that are new; those that stayed as they were keep their vectors."),
    error: z
      .string()
      .nullable()
      .describe(
        "Why it failed, or, while it is queued again, why it waits. Of one that succeeded: which pages could not be read.",
      ),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
  })
  .meta({ id: "IngestionJob" });

export const list = operation({
  id: "knowledge-sources.list",
  http: "GET /api/knowledge-sources",
  rpc: "KnowledgeSourceService.ListKnowledgeSources",
  summary: "List the knowledge sources.",
  input: z.object(paging),
  output: pageOf(knowledgeSource),
});
export const get = operation({
  id: "knowledge-sources.get",
  http: "GET /api/knowledge-sources/:id",
  rpc: "KnowledgeSourceService.GetKnowledgeSource",
  summary: "Get one knowledge source.",
  input: z.object({ id: z.uuid() }),
  output: knowledgeSource,
  problems: ["not_found"],
});
export const create = operation({
  id: "knowledge-sources.create",
  http: "POST /api/knowledge-sources",
  scope: "admin",
  rpc: "KnowledgeSourceService.CreateKnowledgeSource",
  summary: "Add a source of documents. It is searched once it was synced.",
  input: z.object({
    ...settings,
    type: text(63).describe("Name of a connector: `wiki` (Confluence), or that of a plugin."),
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
  summary:
    "Change a knowledge source. `config` is replaced as a whole, except secret members that are left out; a sync under way begins anew.",
  input: z.object(settings).partial().extend({ id: z.uuid() }),
  output: knowledgeSource,
  problems: ["not_found", "unavailable"],
});
export const remove = operation({
  id: "knowledge-sources.delete",
  http: "DELETE /api/knowledge-sources/:id",
  scope: "admin",
  rpc: "KnowledgeSourceService.DeleteKnowledgeSource",
  summary: "Delete a knowledge source with all that was indexed of it.",
  input: z.object({ id: z.uuid() }),
  problems: ["not_found"],
});
export const sync = operation({
  id: "knowledge-sources.sync",
  http: "POST /api/knowledge-sources/:id/sync",
  rpc: "KnowledgeSourceService.SyncKnowledgeSource",
  summary: "Bring the index up to date, in the background. A sync that is queued or running already is answered as it is.",
  input: z.object({ id: z.uuid() }),
  output: ingestionJob,
  status: 202,
  problems: ["not_found"],
});
export const jobs = operation({
  id: "knowledge-sources.jobs",
  http: "GET /api/knowledge-sources/:id/jobs",
  rpc: "KnowledgeSourceService.ListIngestionJobs",
  summary: "List the syncs of a knowledge source, newest first.",
  input: z.object({ id: z.uuid(), ...paging }),
  output: pageOf(ingestionJob),
  problems: ["not_found"],
});
