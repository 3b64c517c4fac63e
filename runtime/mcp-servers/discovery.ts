import { isDeepStrictEqual } from "node:util";
import type { mcpServer } from "@signalbox/schema/mcp-servers";
import type { z } from "zod";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { messageOf } from "../platform/error-text.ts";
import type { Log, Report } from "../platform/log.ts";
import { startLoop } from "../platform/loop.ts";
import { listTools } from "./client/list-tools.ts";
import { allServers, claimDue, type ServerRow, saveAnswer } from "./queries.ts";
import { changesOf } from "./tool-changes.ts";

export type McpServer = z.output<typeof mcpServer>;

/** Discovers the tools of MCP servers in the background, so no request ever waits for a server. */
export interface Discovery {
  /** Discovers all servers now. */
  discoverAll(): Promise<Result>;
  /** Discovers one server in the background. */
  discoverSoon(server: ServerRow): void;
  close(): Promise<void>;
}
interface Result {
  readonly servers: number;
  readonly tools: number;
  readonly failed: { name: string; error: string }[];
}

interface DiscoveryOptions {
  readonly sql: Sql;
  readonly bus: Bus;
  readonly log: Log;
  readonly warn: Report;
  /** Reaches only addresses that users may configure. */
  readonly fetch: typeof globalThis.fetch;
  /** Deadline of one discovery, milliseconds. */
  readonly timeoutMs?: number;
  /** Maximum age of a discovery, and delay before a failed one is retried. */
  readonly freshSeconds?: number;
  readonly retrySeconds?: number;
}

const maxBytes = 4_194_304;
/** Concurrent discoveries. */
const atOnce = 8;

export function startDiscovery(options: DiscoveryOptions): Discovery {
  const { sql, log, freshSeconds = 300, retrySeconds = 60 } = options;
  const stop = new AbortController();
  const underWay = new Map<number, Promise<Answer>>();
  // Concurrent discoveries of one server share an answer.
  const ask = (server: ServerRow): Promise<Answer> => {
    const running = underWay.get(server.id);
    if (running) return running;
    const request = askServer(server, options, stop.signal).finally(() => underWay.delete(server.id));
    underWay.set(server.id, request);
    return request;
  };
  const onError = (error: unknown) => {
    if (!stop.signal.aborted) log.warn("MCP discovery failed", { error });
  };
  let isFirst = true;
  const sweep = async () => {
    const due = await (isFirst ? claimDue(sql, 0, 0) : claimDue(sql, freshSeconds, retrySeconds));
    isFirst = false;
    await askAll(due, ask);
  };
  const sweeps = startLoop({ everyMs: Math.min(freshSeconds, retrySeconds) * 1000, firstMs: 0, run: sweep, onError });
  return {
    discoverAll: async () => {
      const servers = await allServers(sql);
      const answers = await askAll(servers, ask);
      return {
        servers: servers.length,
        tools: answers.reduce((total, answer) => total + answer.tools, 0),
        failed: answers.flatMap((answer, i) =>
          answer.error === null ? [] : [{ name: servers[i]?.name ?? "", error: answer.error }],
        ),
      };
    },
    discoverSoon: (server) => void ask(server).catch(onError),
    close: async () => {
      stop.abort();
      await Promise.allSettled([sweeps.stop(), ...underWay.values()]);
    },
  };
}

interface Answer {
  readonly tools: number;
  readonly error: string | null;
}

async function askAll(servers: readonly ServerRow[], ask: (server: ServerRow) => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  const waiting = [...servers.entries()];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) answers[next[0]] = await ask(next[1]);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return answers;
}

/** Discovers one server and stores the result. Throws only if storing fails. */
async function askServer(server: ServerRow, options: DiscoveryOptions, signal: AbortSignal): Promise<Answer> {
  const { sql, bus, log, fetch, timeoutMs = 15_000 } = options;
  let tools: ServerRow["tools"] | null = null;
  let error: string | null = null;
  try {
    const listing = await listTools({ url: server.url, fetch, signal, timeoutMs, maxBytes });
    tools = listing.tools;
    error = listing.left_out;
  } catch (fault) {
    signal.throwIfAborted();
    error = messageOf(fault);
  }
  const status = tools ? ("connected" as const) : ("failed" as const);
  const saved = await saveAnswer(sql, server.id, { status, tools, last_error: error });
  if (!saved) return { tools: 0, error: "it was deleted in the meantime" };
  reportChanges(server, saved, options);
  if (status !== server.status && status === "failed") options.warn("an MCP server failed", { server: server.name, error });
  else if (status !== server.status)
    log.info("MCP server connected", { server: server.name, tools: tools?.length, left_out: error });
  await bus.publish("tools");
  return tools ? { tools: tools.length, error: null } : { tools: 0, error };
}

/** Reports, once for each change, that tools differ from their approved form. */
function reportChanges(before: ServerRow, { id, name, tools, approved }: ServerRow, { warn }: DiscoveryOptions): void {
  const changes = changesOf({ tools, approved });
  if (changes.length === 0 || isDeepStrictEqual(before.tools, tools)) return;
  warn(`tools of an MCP server changed and are not offered until POST /api/mcp-servers/${id}/approve`, {
    server: name,
    tools: changes.slice(0, 20).map(({ after }) => after.remote_name),
  });
}
