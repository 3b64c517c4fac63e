import type { Patch } from "./rows.ts";

/*
 * The columns of steps and the members of patches, each with its type in the JSON that a statement gets. The parts of statements are
 * built from them once, so their text is constant and PostgreSQL keeps their plans.
 */

/** Columns of a step that never change. */
const fixedColumns = { id: "uuid", execution_id: "uuid", seq: "int", kind: "text" };
/** Columns of a step that may change between its request and its answer. */
const changingColumns = {
  state: "text",
  name: "text",
  agent_id: "text",
  key: "text",
  input: "json",
  packed: "text",
  output: "json",
  packed_output: "text",
  error: "text",
  prompt_tokens: "int",
  completion_tokens: "int",
  cost_usd: "float8",
  duration_ms: "int",
  started_at: "timestamptz",
  ended_at: "timestamptz",
};
const stepColumns = { ...fixedColumns, ...changingColumns };
/** Times of a step, in milliseconds from now. */
const stepTimes = { in_flight_ms: "float8", check_ms: "float8", expires_ms: "float8" };

const patchMembers = {
  state: "text",
  agent_id: "text",
  result: "text",
  packed_result: "text",
  answer_step: "int",
  result_url: "text",
  error: "text",
  waiting_for: "text",
  failures: "int",
  delay_ms: "float8",
  prompt_tokens: "bigint",
  completion_tokens: "bigint",
  tool_calls: "int",
  failed_tool_calls: "int",
  model: "text",
  cost_usd: "float8",
  unpriced_tokens: "bigint",
  offered_to: "text",
  offered_seconds: "float8",
  held_reason: "text",
  held_until: "timestamptz",
  blocked_by: "text",
  is_paid: "bool",
} satisfies Record<keyof Patch, string>;
/** Which members a patch has, of those that may become null. */
const hasMembers = { has_agent: "bool", has_result: "bool", has_error: "bool" };

type Columns = Readonly<Record<string, string>>;
const listOf = (columns: Columns, part: (name: string, type: string) => string): string =>
  Object.entries(columns)
    .map(([name, type]) => part(name, type))
    .join(", ");
const withType = (name: string, type: string) => `${name} ${type}`;
/** The value of a column in `s`, the given steps. */
const given = (name: string) => (name.startsWith("packed") ? `decode(s.${name}, 'base64')` : `s.${name}`);

export const stepTypes = listOf({ ...stepColumns, ...stepTimes }, withType);
export const patchTypes = listOf({ id: "uuid", lease: "text", ...patchMembers, ...hasMembers }, withType);
export const stepNames = listOf(stepColumns, (name) => name);
export const stepValues = listOf(stepColumns, given);
/** For an update of steps by the given ones. */
export const stepChanges = listOf(changingColumns, (name) => `${name} = ${given(name)}`);
/** For an insert of steps of which some are stored already. */
export const savedChanges = listOf(changingColumns, (name) => `${name} = excluded.${name}`);
