import { parseArgs } from "node:util";
import { nearestName } from "@signalbox/schema/nearest";
import type { z } from "zod";
import { inputProblem } from "../platform/operation.ts";
import type { Flag, Verb } from "./verbs.ts";

/** A usage error: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

interface ParsedArguments {
  readonly input: Record<string, unknown>;
  readonly format: "json" | "table" | null;
  readonly help: boolean;
  /** For `keys` only: send the request to the running service instead of opening the database. */
  readonly remote: boolean;
  /** Creates a new database if there is none. */
  readonly create: boolean;
}

/** Reads `@file`, or `-` for standard input. */
export type ReadText = (from: string) => Promise<string>;

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>;

/** The input of a verb: `--json`, then flags, then positional arguments; later ones win. Throws a `UsageError`. */
export async function readArguments(verb: Verb, args: readonly string[], read: ReadText): Promise<ParsedArguments> {
  const { values, positionals } = parse(verb, args);
  const format = values.format as string | undefined;
  if (format !== undefined && format !== "json" && format !== "table") throw new UsageError("--format: must be json or table");
  if (format === "table" && !verb.op.paginated) throw new UsageError("--format: only lists can be shown as a table");
  const options: Omit<ParsedArguments, "input"> = {
    format: format ?? null,
    help: values.help === true,
    remote: values.remote === true,
    create: values.create === true,
  };
  if (options.help) return { ...options, input: {} };

  const input: Record<string, unknown> = {};
  if (typeof values.json === "string") Object.assign(input, await readObject(values.json, read));
  for (const flag of verb.flags) {
    const value = await memberOf(flag, values, read);
    if (value !== undefined) input[flag.member] = value;
  }
  if (positionals.length > verb.params.length) {
    const takes = verb.params.length === 0 ? "flags only" : verb.params.map((name) => `<${name}>`).join(" ");
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[verb.params.length])}: ${verb.verb} takes ${takes}`);
  }
  for (const [i, text] of positionals.entries()) {
    const member = verb.params[i] as string;
    const flag = verb.flags.find((one) => one.member === member);
    input[member] = flag?.kind === "number" ? numberOf(text) : text;
  }
  const checked = verb.op.input.safeParse(input);
  if (!checked.success) throw new UsageError(complaint(checked.error));
  return { ...options, input };
}

function parse(verb: Verb, args: readonly string[]): { values: Values; positionals: string[] } {
  const options: Record<string, { type: "string" | "boolean"; multiple?: boolean; short?: string }> = {
    json: { type: "string" },
    format: { type: "string" },
    help: { type: "boolean", short: "h" },
    ...(verb.noun === "keys" && { remote: { type: "boolean" }, create: { type: "boolean" } }),
  };
  for (const { name, alias, kind } of verb.flags) {
    if (kind === "boolean") Object.assign(options, { [name]: { type: "boolean" }, [`no-${name}`]: { type: "boolean" } });
    else options[name] = kind === "list" ? { type: "string", multiple: true } : { type: "string" };
    if (alias) options[alias] = { type: "string", multiple: true };
  }
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true }) as {
      values: Values;
      positionals: string[];
    };
  } catch (error) {
    throw new UsageError(optionFault(error, Object.keys(options)));
  }
}

/** What `parseArgs` refuses, with the option that was probably meant. */
export function optionFault(error: unknown, names: readonly string[]): string {
  const text = error instanceof Error ? (error.message.split("\n")[0] as string) : String(error);
  const ambiguous = /^Option '[^']*?(--[\w-]+)[^']*' argument is ambiguous/.exec(text)?.[1];
  if (ambiguous !== undefined) return `${ambiguous}: missing value; write a value that begins with a hyphen as ${ambiguous}=-…`;
  const option = /^Unknown option '(-[^']*)'/.exec(text)?.[1];
  if (option === undefined) return text;
  const suggestion = nearestName(option.replace(/^-+/, ""), names);
  return `unknown option ${option}${suggestion ? `; did you mean --${suggestion}?` : ""}`;
}

async function memberOf(flag: Flag, values: Values, read: ReadText): Promise<unknown> {
  if (flag.kind === "boolean") return values[`no-${flag.name}`] === true ? false : values[flag.name];
  if (flag.kind === "list") {
    const items = [values[flag.name], flag.alias ? values[flag.alias] : undefined]
      .flat()
      .filter((one) => typeof one === "string");
    if (items.length === 0) return undefined;
    // Free text may contain commas; names from a closed list do not.
    return flag.choices.length > 0 ? items.flatMap((item) => item.split(",").map((part) => part.trim())) : items;
  }
  const text = values[flag.name];
  if (typeof text !== "string") return undefined;
  if (flag.kind === "number") return numberOf(text);
  return flag.kind === "json" ? readJson(`--${flag.name}`, text, read) : text;
}

const numberOf = (text: string): unknown => (text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : text);

async function readJson(name: string, text: string, read: ReadText): Promise<unknown> {
  const json = text === "-" || text.startsWith("@") ? await read(text) : text;
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError(`${name}: must be JSON, @file, or - for standard input`);
  }
}

async function readObject(text: string, read: ReadText): Promise<object> {
  const value = await readJson("--json", text, read);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new UsageError("--json: must be a JSON object");
  return value;
}

/** Changes `role_id: is required` to the name of the flag: `--role-id: is required`. */
const complaint = (error: z.ZodError): string =>
  inputProblem(error).message.replace(/^[a-z_]+(?=[:.[])/, (member) => `--${member.replaceAll("_", "-")}`);
