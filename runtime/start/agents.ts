import { createLlm } from "../llm/client.ts";
import { startDiscovery } from "../mcp-servers/discovery.ts";
import { mcpTools } from "../mcp-servers/tools.ts";
import { openMemory } from "../memory/open.ts";
import { storesFrom } from "../memory/prepare.ts";
import { isBuiltInSource } from "../tools/eligible.ts";
import { openRegistry } from "../tools/registry.ts";
import type { Closing } from "./closing.ts";
import type { Foundations } from "./foundations.ts";
import type { Plugins } from "./plugins.ts";

/** What agents work with: memories, tools and the model. */
export async function openAgents(foundations: Foundations, plugins: Plugins, closing: Closing) {
  const { config, log, sql, bus, guard, ground, fetch, warn } = foundations;
  const { host, manager } = plugins;
  const memory = await openMemory({
    ...{ sql, bus, log, warn },
    ...ground,
    stores: storesFrom(host, ground.redis !== null, config.MEMORY_STORE),
    topK: config.MEMORY_TOP_K,
    promptLimit: config.MEMORY_SEARCH_LIMIT,
    shortTtlSeconds: config.REDIS_MEMORY_TTL,
  });
  closing.add(() => memory.close());
  const isTaken = (provider: string) =>
    manager.isTaken(provider) || manager.running(provider) !== undefined || isBuiltInSource(provider);
  const tools = await openRegistry({
    ...{ host, sql, bus, log, fetch: guard.fetch },
    builtIns: new Set(plugins.builtIns.map(({ id }) => id)),
    discovered: () => mcpTools(sql, guard.fetch, isTaken),
  });
  closing.add(() => tools.close());
  plugins.changed.push(() => tools.refresh());
  const discovery = startDiscovery({ ...{ sql, bus, log, fetch: guard.fetch }, watchdog: warn });
  closing.add(() => discovery.close());
  const endpoint = config.LLM_BASE_URL && { fetch, baseUrl: config.LLM_BASE_URL, apiKey: config.LLM_API_KEY };
  const conversation = {
    ...{ tools, recall: memory.recall },
    llm: endpoint ? createLlm({ ...endpoint, timeoutMs: config.LLM_TIMEOUT_SECONDS * 1000 }) : null,
    defaultModel: config.LLM_MODEL,
    maxToolRounds: config.LLM_MAX_TOOL_ROUNDS,
    trackerUpdates: config.TRACKER_UPDATES_ENABLED,
  };
  if (!endpoint)
    log.warn(
      "no LLM is configured: set LLM_BASE_URL (and LLM_API_KEY, LLM_MODEL) to an OpenAI-compatible API; until then executions fail and can be restarted",
    );
  return { memory, tools, discovery, conversation, isTaken };
}
export type Agents = Awaited<ReturnType<typeof openAgents>>;
