import * as servers from "@signalbox/schema/mcp-servers";
import { Problem, problem } from "@signalbox/schema/problem";
import { findAgent } from "../agents/queries.ts";
import type { Bus } from "../platform/bus.ts";
import { isMissingReference } from "../platform/database/client.ts";
import { type Bound, handle } from "../platform/operation.ts";
import type { Discovery, McpServer } from "./discovery.ts";
import { deleteServer, insertServer, listServers, type ServerRow } from "./queries.ts";
import { qualifiedName } from "./tools.ts";

export interface McpServerDeps {
  readonly discovery: Discovery;
  readonly bus: Bus;
  /** Throws `bad_request` for an address that the service may not contact. */
  readonly checkAddress: (url: string) => Promise<void>;
  /** Whether a plugin or source already uses this provider name. */
  readonly isTaken: (provider: string) => boolean;
}

export const mcpServerOperations = ({ discovery, bus, checkAddress, isTaken }: McpServerDeps): Bound[] => [
  handle(servers.list, async (page, { sql }) => {
    const { items, total } = await listServers(sql, page);
    return { items: items.map(asEntity), total };
  }),
  handle(servers.create, async ({ name, url, agent_id = null }, { sql }) => {
    await checkAddress(url).catch((error) => {
      throw error instanceof Problem ? problem(error.code, `url: ${error.message}`, { field: "url" }) : error;
    });
    const provider = providerName(name);
    if (isTaken(provider))
      throw problem("conflict", `name: the plugin "${provider}" already uses this name. Choose another name.`, {
        field: "name",
      });
    const absent = () => problem("bad_request", `agent_id: there is no agent "${agent_id}"`, { field: "agent_id" });
    if (agent_id !== null && !(await findAgent(sql, agent_id))) throw absent();
    const row = await insertServer(sql, { name, provider, url, agent_id }).catch((error) => {
      throw isMissingReference(error) ? absent() : error;
    });
    if (!row) throw problem("conflict", `name: an MCP server with tools named ${provider}.* already exists`, { field: "name" });
    discovery.soon(row);
    return asEntity(row);
  }),
  handle(servers.remove, async ({ id }, { sql }) => {
    if (!(await deleteServer(sql, id))) throw problem("not_found", `No MCP server has the id ${id}.`);
    await bus.publish("tools");
    return {};
  }),
  handle(servers.discover, () => discovery.all()),
];

/** A server's name as the first part of its tools' names: `My Server (EU)` is `my-server-eu`. */
export function providerName(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const words = plain.replaceAll(/[^a-z0-9_]+/g, "-").replaceAll(/^[-_]+/g, "");
  const named = /^[a-z]/.test(words) ? words : `mcp-${words}`;
  return named.slice(0, 32).replaceAll(/[-_]+$/g, "");
}

const asEntity = ({ provider, tools, ...row }: ServerRow): McpServer => ({
  ...row,
  tools: tools.map((tool) => ({
    name: tool.remote_name,
    qualified_name: qualifiedName({ provider }, tool),
    description: tool.description,
  })),
});
