import { httpRoute, type Operation } from "@signalbox/schema/operation";
import type { z } from "zod";

/**
 * How a flag's value is read. `list`: given several times, or comma-separated; `json`: JSON, `@file`, or `-` for standard input.
 */
type FlagKind = "text" | "number" | "boolean" | "list" | "json";

export interface Flag {
  /** The name after `--`: `role-id`. */
  readonly name: string;
  /** Singular of a list's name, which is accepted too: `--scope` for `--scopes`. */
  readonly alias: string | null;
  readonly member: string;
  readonly kind: FlagKind;
  readonly about: string;
  readonly required: boolean;
  readonly choices: readonly string[];
}

/** One operation as `signalbox <noun> <verb>`. */
export interface Verb {
  readonly noun: string;
  readonly verb: string;
  readonly op: Operation;
  /** Parameters of the path, given in this order after the verb, or as flags. */
  readonly params: readonly string[];
  readonly flags: readonly Flag[];
}

/** Flags of every verb, in addition to those of its members. */
export const ownFlags = ["json", "format", "help", "remote", "create"] as const;

/** The verbs of all operations that are available over HTTP. */
export function verbsOf(operations: readonly Operation[]): Verb[] {
  return operations.filter((op) => op.http !== null && !op.streaming).map(verbOf);
}

function verbOf(op: Operation): Verb {
  const [noun = "", verb = ""] = op.id.split(".");
  const flags = Object.entries(op.input.shape as Record<string, z.ZodType>).map(([member, schema]) => flagOf(member, schema));
  const clash = flags.find((flag) => (ownFlags as readonly string[]).includes(flag.name));
  if (clash) throw new Error(`${op.id}: the member ${clash.member} has the name of a flag that every verb has`);
  return { noun, verb, op, params: httpRoute(op).params, flags };
}

interface Def {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly element?: z.ZodType;
  readonly entries?: Readonly<Record<string, string>>;
}
const defOf = (schema: z.ZodType): Def => schema.def as unknown as Def;

function flagOf(member: string, schema: z.ZodType): Flag {
  const name = member.replaceAll("_", "-");
  const { innerSchema, about } = unwrap(schema);
  const kind = kindOf(innerSchema);
  const element = kind === "list" ? unwrap(defOf(innerSchema).element as z.ZodType).innerSchema : innerSchema;
  return {
    name,
    member,
    kind,
    about,
    alias: kind === "list" && name.endsWith("s") && !name.endsWith("ies") ? name.slice(0, -1) : null,
    required: !schema.safeParse(undefined).success,
    choices: Object.values(defOf(element).entries ?? {}),
  };
}

/** A schema without its `optional`, `nullable` and `default`, and the first description found among them. */
function unwrap(schema: z.ZodType): { innerSchema: z.ZodType; about: string } {
  let innerSchema = schema;
  let about = innerSchema.description;
  for (
    let inner = defOf(innerSchema).innerType ?? defOf(innerSchema).in;
    inner;
    inner = defOf(innerSchema).innerType ?? defOf(innerSchema).in
  ) {
    innerSchema = inner;
    about ??= innerSchema.description;
  }
  return { innerSchema, about: about ?? "" };
}

const texts = ["string", "enum", "literal", "template_literal"];

function kindOf(schema: z.ZodType): FlagKind {
  const { type, element } = defOf(schema);
  if (texts.includes(type)) return "text";
  if (type === "number" || type === "int") return "number";
  if (type === "boolean") return "boolean";
  if (type === "array" && element && texts.includes(defOf(unwrap(element).innerSchema).type)) return "list";
  return "json";
}
