import * as servers from "@signalbox/schema/mcp-servers";
import { fieldProblem, Problem, problem } from "@signalbox/schema/problem";
import { findAgent } from "../agents/queries.ts";
import type { Bus } from "../platform/bus.ts";
import { isMissingReference } from "../platform/database/client.ts";
import { addressFor } from "../platform/network/masked-url.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { McpTool } from "./client/list-tools.ts";
import type { Discovery, McpServer } from "./discovery.ts";
import { approveTools, deleteServer, findServer, insertServer, listServers, type ServerRow } from "./queries.ts";
import { approvedWith, changesOf, versionOf } from "./tool-changes.ts";
import { qualifiedName } from "./tools.ts";

export interface McpServerDeps {
  readonly discovery: Discovery;
  readonly bus: Bus;
  /** Throws `bad_request` for an address that the service may not contact. */
  readonly checkAddress: (url: string) => Promise<void>;
  /** Whether a plugin or source already uses this provider name. */
  readonly isTaken: (provider: string) => boolean;
}

export const mcpServerOperations = ({ discovery, bus, checkAddress, isTaken }: McpServerDeps): BoundOperation[] => [
  handle(servers.list, async (page, { sql, actor }) => {
    const { items, total } = await listServers(sql, page);
    return { items: items.map((row) => ({ ...asEntity(row), url: addressFor(actor, row.url) })), total };
  }),
  handle(servers.create, async ({ name, url, agent_id = null }, { sql }) => {
    await checkAddress(url).catch((error) => {
      throw error instanceof Problem ? problem(error.code, `url: ${error.message}`, { field: "url" }) : error;
    });
    const provider = providerName(name);
    if (isTaken(provider))
      throw problem("already_exists", `name: the plugin "${provider}" already uses this name. Choose another name.`, {
        field: "name",
      });
    const unknownAgent = () => fieldProblem("agent_id", `there is no agent "${agent_id}"`);
    if (agent_id !== null && !(await findAgent(sql, agent_id))) throw unknownAgent();
    const row = await insertServer(sql, { name, provider, url, agent_id }).catch((error) => {
      throw isMissingReference(error) ? unknownAgent() : error;
    });
    if (!row)
      throw problem("already_exists", `name: an MCP server with tools named ${provider}.* already exists`, { field: "name" });
    discovery.discoverSoon(row);
    return asEntity(row);
  }),
  handle(servers.remove, async ({ id }, { sql }) => {
    if (!(await deleteServer(sql, id))) throw problem("not_found", `There is no MCP server ${id}.`);
    await bus.publish("tools");
    return {};
  }),
  handle(servers.approve, async ({ id, version }, { sql }) => {
    const notFound = () => problem("not_found", `There is no MCP server ${id}.`);
    const row = await findServer(sql, id);
    if (!row) throw notFound();
    if (version !== undefined && version !== versionOf(row))
      throw problem(
        "changed_meanwhile",
        "version: the server's tools have changed since. Read them again before you approve them.",
        {
          field: "version",
        },
      );
    const approved = await approveTools(sql, id, approvedWith(row));
    if (!approved) throw notFound();
    await bus.publish("tools");
    return asEntity(approved);
  }),
  handle(servers.discover, () => discovery.discoverAll()),
];

/** A server's name as the first part of its tools' names: `My Server (EU)` is `my-server-eu`. */
function providerName(name: string): string {
  const plain = name.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const words = plain.replaceAll(/[^a-z0-9_]+/g, "-").replaceAll(/^[-_]+/g, "");
  const named = /^[a-z]/.test(words) ? words : `mcp-${words}`;
  return named.slice(0, 32).replaceAll(/[-_]+$/g, "");
}

function asEntity({ provider, tools, approved, ...row }: ServerRow): McpServer {
  const changes = changesOf({ tools, approved });
  const changedTools = new Set(changes.map(({ after }) => after));
  return {
    ...row,
    tools: tools.map((tool) => ({
      name: tool.remote_name,
      qualified_name: qualifiedName({ provider }, tool),
      description: tool.description,
      approved: !changedTools.has(tool),
    })),
    version: versionOf({ tools }),
    changes: changes.map(({ before, after }) => ({
      name: after.remote_name,
      before: before && toOutput(before),
      after: toOutput(after),
    })),
  };
}

const toOutput = ({ description, parameters, read_only, idempotent }: McpTool) => ({
  description,
  parameters,
  read_only,
  idempotent,
});
