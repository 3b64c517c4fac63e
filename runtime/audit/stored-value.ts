import type { Operation } from "@signalbox/schema/operation";
import { z } from "zod";
import { maskSecrets } from "./mask-secrets.ts";

/** Maximum length of the stored JSON of an object before or after a change, in characters. */
const maxLength = 65_536;

const executionTexts = [
  ...["subject_title", "result", "error", "reason", "held_reason", "memories", "history", "transcript"],
  ...["body", "parameters", "error"].map((name) => `proposals.${name}`),
];
/**
 * Members that contain texts of issues, people or models, by noun or operation; `a.b` is the member `b` of `a`, or of each element
 * of the list `a`. They are omitted: retention and erasures must remove such texts, and an entry of the audit log cannot be changed.
 */
export const removableTexts: Readonly<Record<string, readonly string[]>> = {
  "task-executions": [...executionTexts, "samples", "first_error"],
  "tasks.restart": executionTexts,
  "webhook-events": ["subject_title", "actor", "author", "reason", "payload", "samples", "first_error"],
  "tools.execute": ["parameters", "result", "error"],
  queues: ["events.data"],
  "llm.chat": ["content", "tool_calls"],
  memory: ["content"],
};

/** Members that name a person whose data the operation removed. The log stores a pseudonym. */
const erasedNames: Readonly<Record<string, readonly string[]>> = { "data.erase": ["actor"] };

/** A value as the log stores it: without texts that may have to be removed, secrets and names of erased people. */
export function storedValue(op: Operation, value: unknown, pseudonymOf: (name: string) => string): unknown {
  const shown = maskSecrets(withPseudonyms(op, withoutTexts(op, value), pseudonymOf)) ?? null;
  const { length } = JSON.stringify(shown);
  return length > maxLength ? { too_long_to_keep: `${length} characters` } : shown;
}

function withoutTexts(op: Operation, value: unknown): unknown {
  const paths = removableTexts[op.id] ?? removableTexts[nounOf(op)] ?? [];
  return paths.reduce((rest, path) => without(rest, path.split(".")), value);
}

function without(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item) => without(item, [String(name), ...rest]));
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).flatMap(([key, member]) => {
    if (key !== name) return [[key, member]];
    return rest.length === 0 ? [] : [[key, without(member, rest)]];
  });
  return Object.fromEntries(members);
}

function withPseudonyms(op: Operation, value: unknown, pseudonymOf: (name: string) => string): unknown {
  const names = erasedNames[op.id] ?? [];
  if (names.length === 0 || typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([key, member]) => [
    key,
    names.includes(key) && typeof member === "string" ? pseudonymOf(member) : member,
  ]);
  return Object.fromEntries(members);
}

/** The members of a request that the response contains too: the others may be secrets. */
export function requestedValue({ output }: Operation, input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  if (!(output instanceof z.ZodObject)) return {};
  const members = Object.entries(output.shape as Record<string, z.ZodType>).flatMap(([name, schema]) => {
    const { data } = input[name] === undefined ? {} : schema.safeParse(input[name]);
    return data === undefined ? [] : [[name, data]];
  });
  return Object.fromEntries(members);
}

export const nounOf = (op: Operation): string => op.id.split(".")[0] as string;
