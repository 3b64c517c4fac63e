import { startModel } from "../../examples/demo/model.ts";
import { startTracker } from "../../examples/demo/tracker.ts";
import { startService } from "./service.ts";
import { eventually } from "./wait.ts";

/** An MCP server as the API shows it. */
export interface McpServer {
  readonly id: number;
  readonly name: string;
  readonly status: string;
  readonly tools: { name: string; qualified_name: string; approved: boolean }[];
  readonly changes: object[];
  readonly version: string;
  readonly last_error: string | null;
  readonly agent_id: string | null;
}
/** A call of a tool as the API shows it. */
export interface ToolCall {
  readonly tool: string;
  readonly status: string;
  readonly result: unknown;
  readonly error: string;
}

/** A service with a tracker and a model, to which MCP servers can be added. */
export async function startMcpWorld() {
  const tracker = await startTracker({ token: "t0ken", autoCreate: true });
  const model = await startModel();
  const service = await startService({
    seed: true,
    env: {
      ALPHA_API_URL: tracker.url,
      ALPHA_TOKEN: "t0ken",
      LLM_BASE_URL: model.url,
      LLM_API_KEY: "x",
      LLM_MODEL: "m",
      WATCHDOG_ENABLED: "true",
    },
  });
  const servers = async () => (await service.get<McpServer[]>("/api/mcp-servers")).body;
  return {
    model,
    service,
    servers,
    add: (name: string, url: string, more: object = {}) =>
      service.post<McpServer & { error: string }>("/api/mcp-servers", { name, url, ...more }),
    /** Waits until a server has failed, or has listed its tools and all of them are registered. */
    discovered: (name: string) =>
      eventually(
        async () => {
          const server = (await servers()).find((one) => one.name === name && one.status !== "pending");
          if (!server || server.status === "failed") return server;
          const known = (await service.get<{ qualified_name: string }[]>("/api/tools?limit=1000")).body;
          const names = new Set(known.map(({ qualified_name }) => qualified_name));
          return server.tools.every(({ qualified_name }) => names.has(qualified_name)) ? server : null;
        },
        // One of the servers of the tests does not answer, and 15 seconds are waited for it.
        { timeout: 90_000 },
      ),
    execute: (name: string, parameters: object) => service.post<ToolCall>(`/api/tools/${name}/execute`, { parameters }),
    close: async () => {
      await service.close();
      await Promise.all([tracker.close(), model.close()]);
    },
  };
}
export type McpWorld = Awaited<ReturnType<typeof startMcpWorld>>;
