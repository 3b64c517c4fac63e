import type { Fragment, Queryable } from "../platform/database/client.ts";

const answer = (sql: Queryable, execution: Fragment, seq: Fragment, column: "output" | "packed_output") =>
  sql`(select m.${sql(column)} from execution_steps m where m.execution_id = ${execution} and m.seq = ${seq})`;

/**
 * A column of a step of a succeeded execution. Until 26 November 2026, the answer was stored only as the result: a member said so,
 * instead of `content` in the output of the model, and instead of the beginning of `body` in the input of the post.
 */
function withResult(sql: Queryable, step: string, column: "input" | "output") {
  const [kind, named, text] =
    column === "input" ? ["post", "body_after_result", "body"] : ["model", "content_is_result", "content"];
  const value = sql`${sql(`${step}.${column}`)}`;
  const rest = column === "input" ? sql`|| (${value} ->> ${named})` : sql``;
  const result = sql`(select x.result from task_executions x where x.id = ${sql(`${step}.execution_id`)})`;
  return sql`case when ${sql(`${step}.kind`)} = ${kind} and ${value} -> ${named} is not null
    then (${value}::jsonb - ${named}::text || jsonb_build_object(${text}::text, ${result} ${rest}))::json else ${value} end as ${sql(column)}`;
}

/** The texts of a step of the table or alias `step`, for `readStep`: with the answer that it names. */
export function textsOf(sql: Queryable, step: string) {
  const of = (column: string) => sql(`${step}.${column}`);
  const named = sql`(${of("input")} -> 'body_after_step' ->> 0)::int`;
  const answerOf = (column: "output" | "packed_output") =>
    sql`case ${of("kind")} when 'post' then ${answer(sql, sql`${of("execution_id")}`, named, column)} end`;
  return sql`${withResult(sql, step, "input")}, ${of("packed")}, ${withResult(sql, step, "output")}, ${of("packed_output")},
    ${answerOf("output")} as answer_output, ${answerOf("packed_output")} as packed_answer`;
}

/** The parts of the result of an execution of the table or alias `of`, for `shownResult`. */
export function resultOf(sql: Queryable, of: string) {
  const answerOf = (column: "output" | "packed_output") =>
    sql`case when ${sql(`${of}.answer_step`)} is not null then ${answer(sql, sql`${sql(`${of}.id`)}`, sql`${sql(`${of}.answer_step`)}`, column)} end`;
  return {
    result: sql`${sql(`${of}.result`)}`,
    packed_result: sql`${sql(`${of}.packed_result`)}`,
    answer_output: answerOf("output"),
    packed_answer: answerOf("packed_output"),
  };
}
