import { documentationOf, httpRoute, type Operation, type Scope } from "@signalbox/schema/operation";
import { problem } from "@signalbox/schema/problem";
import { z } from "zod";
import { type BoundOperation, type Context, invoke } from "../../platform/operation.ts";
import { hasTrial, placesOf, unknownMember } from "../http/request.ts";
import type { McpTool } from "./tool.ts";

/** Every operation that HTTP offers, as a tool: `agents.list` is `agents_list`. */
export const operationTools = (operations: readonly BoundOperation[]): McpTool[] =>
  operations.filter(({ op }) => op.http !== null && !op.streaming).map(toolOf);

function toolOf(bound: BoundOperation): McpTool {
  const operation = isStreamed(bound.op) ? endsSoon(bound) : bound;
  const { op } = operation;
  const output = schemaOf(op.output, "output");
  // Structured content must be an object, so other outputs are wrapped in one.
  const isWrapped = output.type !== "object";
  const empty = op.status === 204;
  return {
    group: op.id.split(".")[0] as string,
    scope: op.scope,
    definition: {
      name: op.id.replaceAll(/[.-]/g, "_"),
      description: descriptionOf(op),
      inputSchema: schemaOf(op.input, "input") as McpTool["definition"]["inputSchema"],
      ...(!empty && {
        outputSchema: (isWrapped ? inResult(output) : output) as NonNullable<McpTool["definition"]["outputSchema"]>,
      }),
      annotations: annotationsOf(op),
    },
    call: async (input, context: Context) => {
      refuseNoChange(op, input);
      refuseUnknown(op, input);
      const answer = await invoke(operation, input, context);
      if (empty) return {};
      return (isWrapped ? { result: answer } : answer) as Record<string, unknown>;
    },
  };
}

/** Whether the operation answers over HTTP with a stream that ends after `seconds`. */
const isStreamed = (op: Operation): boolean => op.serverSentEvents !== undefined && httpRoute(op).method === "GET";

/** An answer over MCP is not a stream, and clients wait for it about a minute. */
function endsSoon({ op, ...rest }: BoundOperation): BoundOperation {
  const seconds = z.int().min(1).max(3_600).default(30).describe("Seconds that the call waits at most. Default: 30.");
  return { ...rest, op: { ...op, input: op.input.extend({ seconds }) } };
}

const descriptionOf = (op: Operation): string =>
  isStreamed(op)
    ? `${documentationOf(op)} Over MCP, the call waits until the stream ends, and returns the data of its last event.`
    : documentationOf(op);

/** Derived from the method, or for a POST that changes nothing (search), from the scope. */
function annotationsOf(op: Operation): McpTool["definition"]["annotations"] {
  const { method } = httpRoute(op);
  const reads: readonly Scope[] = ["open", "read"];
  if (method === "GET" || reads.includes(op.scope)) return { readOnlyHint: true };
  return {
    readOnlyHint: false,
    // A PUT replaces the previous values.
    destructiveHint: method === "DELETE" || method === "PUT",
    idempotentHint: method === "DELETE" || method === "PUT",
  };
}

/** As over HTTP, an update must set at least one member. */
function refuseNoChange(op: Operation, input: Record<string, unknown>): void {
  if (httpRoute(op).method !== "PUT") return;
  const { body } = placesOf(op);
  if (body.some((name) => Object.hasOwn(input, name))) return;
  throw problem("bad_request", `No known member is given. Send at least one of: ${body.join(", ")}.`);
}

/** As over HTTP: with a typo in its name, a filter would return everything, and a dry run would make a change. */
function refuseUnknown(op: Operation, input: Record<string, unknown>): void {
  if (httpRoute(op).method !== "GET" && !hasTrial(op)) return;
  const known = Object.keys(op.input.shape);
  const unknown = Object.keys(input).find((name) => !known.includes(name));
  if (unknown !== undefined) throw problem("bad_request", unknownMember(unknown, { allowedNames: known, kind: "", of: op.id }));
}

const inResult = (schema: object) => ({
  type: "object",
  properties: { result: schema },
  required: ["result"],
  additionalProperties: false,
});

/** Schemas without ids, because models read complete schemas better than references. */
const inline = Object.assign(z.registry(), {
  get: (schema: z.ZodType) => {
    const { id: _, ...rest } = z.globalRegistry.get(schema) ?? {};
    return rest;
  },
  has: (schema: z.ZodType) => z.globalRegistry.has(schema),
});

function schemaOf(schema: z.ZodType, io: "input" | "output"): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any", metadata: inline as never });
  return rest;
}
