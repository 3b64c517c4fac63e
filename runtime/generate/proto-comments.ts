import { documentationOf, type Operation } from "@signalbox/schema/operation";
import { type ProblemCode, problems } from "@signalbox/schema/problem";
import { z } from "zod";
import { unwrapSchema } from "../transports/grpc/zod-shape.ts";
import { problemsOf } from "../transports/http/openapi.ts";

/** What is true of every call, so that the comments of the calls do not repeat it. */
export const serviceComment = `Times are ISO 8601 in UTC, such as 2026-01-31T09:30:00.000Z. A request message has at most 4 MiB.
INVALID_ARGUMENT names the field in the message and in a google.rpc.BadRequest detail.
RESOURCE_EXHAUSTED and UNAVAILABLE can end every call: repeat it, after the seconds in the metadata \`retry-after\` if it is present.
A message of more than 4 MiB gets RESOURCE_EXHAUSTED without \`retry-after\`. INTERNAL is an error of the service.`;

/** Codes that the comment of the service explains. */
const everywhere: ReadonlySet<ProblemCode> = new Set(["too_large", "unsupported_media_type", "rate_limited", "bad_gateway"]);

export function rpcComment(op: Operation): string {
  const codes = problemsOf(op)
    .filter((code) => !everywhere.has(code))
    .sort((a, b) => problems[a].status - problems[b].status)
    .map((code) => problems[code].grpc);
  const errors = codes.length > 0 ? [`Errors: ${[...new Set(codes)].join(", ")}.`] : [];
  return [documentationOf(op), ...errors, ...(op.http ? [`HTTP: ${op.http}`] : [])].join("\n");
}

/** The description of a member of a request, with the limits and the default that the description does not contain. */
export function memberComment(about: string | undefined, schema: z.core.$ZodType | undefined): string | undefined {
  if (!schema) return about;
  const limit = /\d (?:to|characters|KiB)|at (?:least|most) \d/i.test(about ?? "") ? undefined : limitsOf(schema);
  const text = [about, limit, /default:/i.test(about ?? "") ? undefined : defaultOf(schema)].filter(Boolean).join(" ");
  return text === "" ? undefined : text;
}

/** Names of a limit in JSON Schema, with the unit of its value. */
const limits = [
  ["minLength", "maxLength", " characters"],
  ["minItems", "maxItems", " items"],
  ["minimum", "maximum", ""],
] as const;
const plain = new Intl.NumberFormat("en");
/** Greater bounds are those of the protobuf type. */
const withoutTypeBound = (value: number | undefined) =>
  value === undefined || Math.abs(value) >= 2 ** 31 - 1 ? undefined : value;

function limitsOf(schema: z.core.$ZodType): string | undefined {
  const found = z.toJSONSchema(unwrapSchema(schema, "input").schema, { io: "input", unrepresentable: "any" });
  for (const [least, most, unit] of limits) {
    const [minimum, maximum] = [withoutTypeBound(found[least]), withoutTypeBound(found[most])];
    const [low, high] = [minimum, maximum].map((value) => (value === undefined ? "" : plain.format(value)));
    if (low && high) return unit === "" ? `Allowed: ${low} to ${high}.` : `${low} to ${high}${unit}.`;
    if (high) return `At most ${high}${unit}.`;
    if (low) return `At least ${low}${minimum === 1 ? unit.replace(/s$/, "") : unit}.`;
  }
  return undefined;
}

function defaultOf(schema: z.core.$ZodType): string | undefined {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  if (def.type === "optional" || def.type === "nullable") return defaultOf(def.innerType);
  if (def.type !== "default") return undefined;
  const value: unknown = def.defaultValue;
  const isShown = typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value !== "");
  return isShown ? `Default: ${typeof value === "string" ? `\`${value}\`` : value}.` : undefined;
}
