import type { Fragment, Queryable } from "../platform/database/client.ts";

const answer = (sql: Queryable, execution: Fragment, seq: Fragment, column: "output" | "packed_output") =>
  sql`(select m.${sql(column)} from execution_steps m where m.execution_id = ${execution} and m.seq = ${seq})`;

/** The texts of a step of the table or alias `step`, for `readStep`: with the answer that it names. */
export function textsOf(sql: Queryable, step: string) {
  const of = (column: string) => sql(`${step}.${column}`);
  const named = sql`(${of("input")} -> 'body_after_step' ->> 0)::int`;
  const answerOf = (column: "output" | "packed_output") =>
    sql`case ${of("kind")} when 'post' then ${answer(sql, sql`${of("execution_id")}`, named, column)} end`;
  return sql`${of("input")}, ${of("packed")}, ${of("output")}, ${of("packed_output")},
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
