import { pricesOf } from "../budgets/prices.ts";
import { createLlm } from "../llm/client.ts";
import { startDiscovery } from "../mcp-servers/discovery.ts";
import { mcpTools } from "../mcp-servers/tools.ts";
import { type Memory, openMemory as open } from "../memory/open.ts";
import { type MemoryResources, storesFrom } from "../memory/prepare.ts";
import { readModelPrices } from "../platform/model-prices.ts";
import { isBuiltInSource } from "../tools/eligible.ts";
import { openRegistry } from "../tools/registry.ts";
import type { Core } from "./core.ts";
import type { Network } from "./network.ts";
import { openOutbox } from "./outbox.ts";
import type { Plugins } from "./plugins.ts";

/** Memories in the stores of the plugins. */
export async function openMemory({ config, log, sql, bus, warn, shutdown }: Core, resources: MemoryResources, { host }: Plugins) {
  const memory = await open({
    ...resources,
    sql,
    bus,
    log,
    warn,
    stores: storesFrom(host, resources.redis !== null, config.MEMORY_STORE),
    topK: config.MEMORY_TOP_K,
    promptLimit: config.MEMORY_SEARCH_LIMIT,
    shortTtlSeconds: config.REDIS_MEMORY_TTL,
  });
  shutdown.add(() => memory.close());
  return memory;
}

/** The tools of plugins, the database and MCP servers. */
export async function openTools({ log, sql, bus, warn, shutdown }: Core, { guard }: Network, plugins: Plugins) {
  const { host, manager, changed, builtInIds } = plugins;
  const { fetch } = guard;
  /** Whether a plugin or a built-in source already uses the name of a provider. */
  const isTaken = (provider: string) =>
    manager.isTaken(provider) || manager.runningPlugin(provider) !== undefined || isBuiltInSource(provider);
  const discoverTools = () => mcpTools(sql, fetch, isTaken);
  const registry = await openRegistry({ host, sql, bus, log, fetch, builtIns: builtInIds, discoverTools });
  shutdown.add(() => registry.close());
  changed.push(() => registry.refresh());
  const discovery = startDiscovery({ sql, bus, log, fetch, warn });
  shutdown.add(() => discovery.close());
  return { registry, discovery, isTaken };
}
export type Tools = Awaited<ReturnType<typeof openTools>>;

/** The parts that every conversation with the model needs: those of runs and of chats. */
export async function openConversation(core: Core, { fetch }: Network, plugins: Plugins, memory: Memory, { registry }: Tools) {
  const { config, log } = core;
  const { LLM_BASE_URL: baseUrl, LLM_API_KEY: apiKey, LLM_TIMEOUT_SECONDS: timeoutSeconds } = config;
  if (!baseUrl)
    log.warn(
      "no LLM is configured: set LLM_BASE_URL (and LLM_API_KEY, LLM_MODEL) to an OpenAI-compatible API; until then executions fail and can be restarted",
    );
  return {
    tools: registry,
    recall: memory.recall,
    outbox: await openOutbox(core, plugins),
    llm: baseUrl ? createLlm({ fetch, baseUrl, apiKey, timeoutMs: timeoutSeconds * 1000 }) : null,
    defaultModel: config.LLM_MODEL,
    prices: pricesOf(readModelPrices(config.MODEL_PRICES ?? "{}"), core.warn),
    maxToolRounds: config.LLM_MAX_TOOL_ROUNDS,
    trackerUpdates: config.TRACKER_UPDATES_ENABLED,
  };
}
export type ConversationParts = Awaited<ReturnType<typeof openConversation>>;
