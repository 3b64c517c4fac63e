import type { OpenAPIHono } from "@hono/zod-openapi";
import { problem } from "@signalbox/schema/problem";
import type { Context as HonoContext } from "hono";
import type { ToolRegistry } from "../../tools/registry.ts";
import { type HttpOptions, refuse } from "../http/app.ts";
import { readBody } from "../http/body.ts";
import { foreignOrigin } from "../http/cross-site.ts";
import { parseCall } from "../http/request.ts";
import { keyProofOf } from "../http/session-cookie.ts";
import { operationTools } from "./operation-tools.ts";
import { registryTools } from "./registry-tools.ts";
import type { McpTool } from "./tool.ts";

const path = "/mcp";

/**
 * MCP over Streamable HTTP, without sessions: each POST is an independent request that is answered with JSON. So any replica
 * can answer it, and no stream stays open. `?only=agents,alpha` selects the tools of these nouns and providers.
 */
export function mountMcp(app: OpenAPIHono, registry: Pick<ToolRegistry, "eligibleTools">, options: HttpOptions): void {
  const execute = options.operations.find(({ op }) => op.id === "tools.execute");
  if (!execute) throw new Error("there is no operation tools.execute");
  // Built at the first request, like the package for MCP: the schemas of some hundred tools would take a tenth of the start.
  let operations: readonly McpTool[] | null = null;
  const all = () => {
    operations ??= operationTools(options.operations);
    const takenNames = new Set(operations.map(({ definition }) => definition.name));
    return [...operations, ...registryTools(registry, execute).filter(({ definition }) => !takenNames.has(definition.name))];
  };

  app.post(path, async (c) => {
    const origin = foreignOrigin(c.req.header("host"), c.req.header("origin"));
    if (origin !== null) throw problem("forbidden", origin);
    const actor = await options.authenticate(keyProofOf(c), "read");
    const parsedBody = parseCall(await readBody(c, { maxBytes: options.maxBodyBytes, budget: options.budget }), {
      "content-encoding": c.req.header("content-encoding"),
    });
    const tools = chooseTools(c, all());
    const { answerCall } = await import("./server.ts");
    return answerCall(c.req.raw, parsedBody, { tools, context: options.context(c.req.raw, actor), version: options.version });
  });
  app.all(path, (c) => {
    c.header("Allow", "POST");
    return refuse(
      c,
      problem("method_not_allowed", `${path} accepts only POST, not ${c.req.method}, because it has no sessions or streams.`),
    );
  });
}

function chooseTools(c: HonoContext, tools: readonly McpTool[]): readonly McpTool[] {
  const only = c.req.query("only")?.split(",");
  if (!only) return tools;
  const groups = new Set(tools.map(({ group }) => group));
  const unknown = only.find((one) => !groups.has(one));
  if (unknown !== undefined)
    throw problem(
      "bad_request",
      `only: there is no noun or provider ${JSON.stringify(unknown)}; available: ${[...groups].join(", ")}`,
    );
  return tools.filter(({ group }) => only.includes(group));
}
