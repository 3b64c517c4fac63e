import type { Queryable } from "../platform/database/client.ts";

interface Step {
  readonly kind: string;
  readonly state: string;
  readonly input: unknown;
  readonly output: unknown;
  readonly is_living?: boolean;
}

/**
 * The answer of an execution is in three places: the model's step, the text of the post, and the result of the execution. Once
 * the execution has succeeded, only the result contains the text; the steps refer to it, and readers insert it. Until then each
 * step is complete, because another replica may have to continue after it.
 */
export function withoutRepeats<S extends Step>(step: S, result: string): S {
  if (step.kind === "post" && !step.is_living) {
    const { body, ...rest } = (step.input ?? {}) as { body?: unknown };
    return typeof body === "string" && body.startsWith(result)
      ? { ...step, input: { ...rest, body_after_result: body.slice(result.length) } }
      : step;
  }
  if (step.kind !== "model" || step.state !== "succeeded") return step;
  const { content, ...rest } = (step.output ?? {}) as { content?: unknown };
  return content === result ? { ...step, output: { ...rest, content_is_result: true } } : step;
}

const resultOf = (sql: Queryable, step: string) =>
  sql`(select x.result from task_executions x where x.id = ${sql(`${step}.execution_id`)})`;

/** The input of a step of the table or alias `step`, with the shared text inserted. */
export const inputOf = (sql: Queryable, step: string) => sql`case
  when ${sql(`${step}.kind`)} = 'post' and ${sql(`${step}.input`)} -> 'body_after_result' is not null then
    (${sql(`${step}.input`)}::jsonb - 'body_after_result'
      || jsonb_build_object('body', ${resultOf(sql, step)} || (${sql(`${step}.input`)} ->> 'body_after_result')))::json
  else ${sql(`${step}.input`)} end`;

/** The output of a step of the table or alias `step`, with the shared text inserted. */
export const outputOf = (sql: Queryable, step: string) => sql`case
  when ${sql(`${step}.kind`)} = 'model' and ${sql(`${step}.output`)} -> 'content_is_result' is not null then
    (${sql(`${step}.output`)}::jsonb - 'content_is_result' || jsonb_build_object('content', ${resultOf(sql, step)}))::json
  else ${sql(`${step}.output`)} end`;
