import { z } from "zod";
import { rowId, slug, timestamp } from "./common.ts";
import { executionState } from "./executions.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const memoryScopes = ["task", "agent", "project", "organizational"] as const;
export const memoryScope = z
  .enum(memoryScopes)
  .meta({ id: "MemoryScope" })
  .describe("Who can see the memory: one task execution, one agent, all agents on a project, or all agents.");
export const searchModes = ["semantic", "keyword", "hybrid"] as const;
export const searchMode = z.enum(searchModes).meta({ id: "MemorySearchMode" });

const maxKeyLength = 512;
const maxContentBytes = 256 * 1024;
const bytes = new TextEncoder();
/** A UTF-16 unit takes at most three bytes, so most texts do not have to be encoded. */
const fits = (text: string): boolean => text.length * 3 <= maxContentBytes || bytes.encode(text).length <= maxContentBytes;

/** Any text that a URL path can carry: a memory is addressed as `/api/memory/:key`, percent-encoded. */
export const memoryKey = z
  .string()
  .min(1, "must not be empty")
  .refine((key) => [...key].length <= maxKeyLength, `must have at most ${maxKeyLength} characters`)
  .refine((key) => key !== "." && key !== "..", "must not be `.` or `..`, which a URL path cannot contain")
  .describe(`Unique key of the memory, 1 to ${maxKeyLength} characters.`);

export const memoryContent = z
  .string()
  .min(1, "must not be empty")
  .refine(fits, `must have at most ${maxContentBytes} bytes in UTF-8 (256 KiB)`)
  .describe("Content of the memory, at most 256 KiB.");

const taskId = z.string().min(1).max(128).describe("Id of the task execution, for the scope `task`.");
const query = z
  .string()
  .refine((value) => value.trim() !== "", "must not be empty")
  .refine(fits, `must have at most ${maxContentBytes} bytes in UTF-8 (256 KiB)`);

const sharedMembers = {
  key: z.string(),
  content: z.string(),
  scope: memoryScope,
  agent_id: z.string().nullable(),
  project_id: rowId.nullable(),
};

export const memory = z
  .object({ id: z.uuid(), ...sharedMembers, task_id: z.string().nullable(), created_at: timestamp, updated_at: timestamp })
  .meta({ id: "Memory" });

export const memorySummary = z
  .object({ ...sharedMembers, created_at: timestamp, updated_at: timestamp })
  .meta({ id: "MemoryListed" });

export const memorySearchResult = z
  .object({
    ...sharedMembers,
    key: z
      .string()
      .describe("Key of the memory. For a document chunk: the document's URL followed by `#chunk-` and the chunk's number."),
    similarity: z
      .number()
      .min(0)
      .max(1)
      .describe("Similarity to the query, 0 to 1; higher is closer. In the mode `keyword`: the rank."),
    created_at: timestamp,
  })
  .meta({ id: "MemoryFound" });

const filter = {
  agent_id: slug.optional().describe("Return only memories of this agent."),
  project_id: rowId.optional().describe("Return only memories of this project."),
  scope: memoryScope.optional().describe("Return only memories of this scope."),
};

export const search = operation({
  id: "memory.search",
  http: "POST /api/memory/search",
  rpc: "MemoryService.SearchMemories",
  summary: "Search memories",
  description: "Searches memories and ingested documents by meaning, by keyword, or both.",
  input: z.object({
    query: query.describe(
      'Query in natural language. In the mode `keyword`: words, "phrases", `or`, and `-` to exclude a word; at most 8,000 characters.',
    ),
    ...filter,
    mode: searchMode
      .default("semantic")
      .describe("Search by meaning (`semantic`), by keyword (`keyword`) or both (`hybrid`). Default: `semantic`."),
    limit: z.int().min(1).max(1000).optional().describe("Maximum number of results. Default: `MEMORY_TOP_K`."),
  }),
  output: pageOf(memorySearchResult),
  problems: ["bad_gateway", "unavailable"],
  scope: "read",
});
export const list = operation({
  id: "memory.list",
  http: "GET /api/memory",
  rpc: "MemoryService.ListMemories",
  summary: "List memories",
  description: "Newest first.",
  input: z.object({ ...paging, ...filter }),
  output: pageOf(memorySummary),
  problems: ["unavailable"],
});
export const get = operation({
  id: "memory.get",
  http: "GET /api/memory/:key",
  rpc: "MemoryService.GetMemory",
  summary: "Get a memory",
  input: z.object({ key: z.string().describe("Key of the memory, percent-encoded.") }),
  output: memory,
  problems: ["not_found", "unavailable"],
  rawPathParameter: true,
});
export const memoryUse = z
  .object({
    execution_id: z.uuid(),
    task_id: z.string(),
    agent_id: z.string().nullable(),
    subject: z.string().nullable().describe("The execution's issue."),
    state: executionState,
    created_at: timestamp,
  })
  .meta({ id: "MemoryUse" });
export const uses = operation({
  id: "memory.uses",
  http: "GET /api/memory/:key/uses",
  rpc: "MemoryService.ListMemoryUses",
  summary: "List the uses of a memory",
  description: "Returns the executions whose prompt contained the memory, newest first, even after the memory was deleted.",
  input: z.object({ key: z.string().describe("Key of the memory, percent-encoded."), ...paging }),
  output: pageOf(memoryUse),
  problems: ["not_found"],
});
export const create = operation({
  id: "memory.create",
  http: "POST /api/memory",
  rpc: "MemoryService.CreateMemory",
  summary: "Create a memory",
  description: "Memories with the scope `task` are short-term. All others are kept until they are deleted or expire.",
  input: z.object({
    key: memoryKey,
    content: memoryContent,
    scope: memoryScope,
    agent_id: slug.nullish().describe("Agent of the memory. It must exist."),
    project_id: rowId.nullish().describe("Project of the memory. It must exist."),
    task_id: taskId.nullish(),
    ttl_seconds: z
      .int()
      .min(1)
      .max(315_360_000)
      .nullish()
      .describe(
        "Seconds after which the memory expires. Default: `REDIS_MEMORY_TTL` for the scope `task`; other memories do not expire.",
      ),
  }),
  output: memory,
  status: 201,
  problems: ["already_exists", "unavailable"],
});
export const remove = operation({
  id: "memory.delete",
  http: "DELETE /api/memory/:key",
  rpc: "MemoryService.DeleteMemory",
  summary: "Delete a memory",
  description: "Deletion is permanent.",
  input: z.object({ key: z.string().describe("Key of the memory, percent-encoded.") }),
  problems: ["not_found", "unavailable"],
  rawPathParameter: true,
});
