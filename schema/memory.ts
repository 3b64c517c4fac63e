import { z } from "zod";
import { rowId, slug, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const memoryScopes = ["task", "agent", "project", "organizational"] as const;
export const memoryScope = z
  .enum(memoryScopes)
  .meta({ id: "MemoryScope" })
  .describe("Who sees it: one task execution, an agent, all agents on a project, or all agents.");
export const searchModes = ["semantic", "keyword", "hybrid"] as const;
export const searchMode = z.enum(searchModes).meta({ id: "MemorySearchMode" });

const longestKey = 512;
const largestContent = 256 * 1024;
const bytes = new TextEncoder();

/** Any text that a path can carry: a key is addressed as `/api/memory/:key`, percent-encoded. */
export const memoryKey = z
  .string()
  .min(1, "must not be empty")
  .refine((key) => [...key].length <= longestKey, `must be at most ${longestKey} characters long`)
  .refine((key) => key !== "." && key !== "..", "must not be `.` or `..`: a path cannot address those")
  .describe(`Unique among all memories; 1 to ${longestKey} characters of any kind.`);

export const memoryContent = z
  .string()
  .min(1, "must not be empty")
  .refine(
    (content) => bytes.encode(content).length <= largestContent,
    `must be at most ${largestContent} bytes of UTF-8 (256 KiB)`,
  )
  .describe("What is remembered; at most 256 KiB.");

const taskId = z.string().min(1).max(128).describe("For the scope `task`: id of the task execution.");
const query = z
  .string()
  .refine((value) => value.trim() !== "", "must not be empty")
  .refine((value) => bytes.encode(value).length <= largestContent, `must be at most ${largestContent} bytes of UTF-8 (256 KiB)`);

const shared = {
  key: z.string(),
  content: z.string(),
  scope: memoryScope,
  agent_id: z.string().nullable(),
  project_id: rowId.nullable(),
};

export const memory = z
  .object({ id: z.uuid(), ...shared, task_id: z.string().nullable(), created_at: timestamp, updated_at: timestamp })
  .meta({ id: "Memory" });

export const memorySummary = z.object({ ...shared, created_at: timestamp, updated_at: timestamp }).meta({ id: "MemoryListed" });

export const memorySearchResult = z
  .object({
    ...shared,
    key: z
      .string()
      .describe("Key of the memory. For a chunk of a document: its address, and the chunk's number behind `#chunk-`."),
    similarity: z
      .number()
      .min(0)
      .max(1)
      .describe("Higher is closer. Between 0 and 1 for every metric; in the mode `keyword` the rank."),
    created_at: timestamp,
  })
  .meta({ id: "MemoryFound" });

const filter = {
  agent_id: slug.optional().describe("Only memories that name this agent."),
  project_id: rowId.optional().describe("Only memories that name this project."),
  scope: memoryScope.optional(),
};

export const search = operation({
  id: "memory.search",
  http: "POST /api/memory/search",
  rpc: "MemoryService.SearchMemories",
  summary: "Search memories and document chunks by meaning, by words, or by both.",
  input: z.object({
    query: query.describe(
      'Natural-language query. In the mode `keyword`: words, "phrases", `or`, and `-` before what must not occur; at most 8,000 characters.',
    ),
    ...filter,
    mode: searchMode.default("semantic"),
    limit: z.int().min(1).max(1000).optional().describe("At most this many; `MEMORY_TOP_K` where absent."),
  }),
  output: pageOf(memorySearchResult),
  problems: ["bad_gateway", "unavailable"],
  scope: "read",
});
export const list = operation({
  id: "memory.list",
  http: "GET /api/memory",
  rpc: "MemoryService.ListMemories",
  summary: "List memories, newest first.",
  input: z.object({ ...paging, ...filter }),
  output: pageOf(memorySummary),
  problems: ["unavailable"],
});
export const get = operation({
  id: "memory.get",
  http: "GET /api/memory/:key",
  rpc: "MemoryService.GetMemory",
  summary: "Get one memory by its key.",
  input: z.object({ key: z.string() }),
  output: memory,
  problems: ["not_found", "unavailable"],
  rawPathParameter: true,
});
export const create = operation({
  id: "memory.create",
  http: "POST /api/memory",
  rpc: "MemoryService.CreateMemory",
  summary: "Store a memory. Those of the scope `task` are short-term; the others stay until they are deleted.",
  input: z.object({
    key: memoryKey,
    content: memoryContent,
    scope: memoryScope,
    agent_id: slug.nullish().describe("Must exist."),
    project_id: rowId.nullish().describe("Must exist."),
    task_id: taskId.nullish(),
    ttl_seconds: z
      .int()
      .min(1)
      .max(315_360_000)
      .nullish()
      .describe("Forgotten after so long. Without it `task` memories live for `REDIS_MEMORY_TTL`, others for ever."),
  }),
  output: memory,
  status: 201,
  problems: ["conflict", "unavailable"],
});
export const remove = operation({
  id: "memory.delete",
  http: "DELETE /api/memory/:key",
  rpc: "MemoryService.DeleteMemory",
  summary: "Delete a memory for good.",
  input: z.object({ key: z.string() }),
  problems: ["not_found", "unavailable"],
  rawPathParameter: true,
});
