import { execFileSync } from "node:child_process";
import { dirname } from "node:path";

/** Debian's command in /usr/sbin changes to a user of its own. */
export const program = "/usr/lib/rabbitmq/bin/rabbitmq-server";

export type Environment = Readonly<Record<string, string>>;

/** A channel remembers what its user may do. */
const closeAll = `[rabbit_networking:close_connection(One, "") || One <- rabbit_networking:connections()]`;

/** Refuses messages with a routing key, and closes all connections; `null`: refuses none. */
export function refuse(env: Environment, routingKey: string | null): void {
  const [user, host, by] = [`<<"guest">>`, `<<"/">>`, `<<"test">>`];
  const allowed = `<<"signalbox">>, <<"^(?!${routingKey}$)">>, <<".*">>`;
  const change =
    routingKey === null
      ? `clear_topic_permissions(${user}, ${host}, ${by})`
      : `set_topic_permissions(${user}, ${host}, ${allowed}, ${by})`;
  evaluate(env, `rabbit_auth_backend_internal:${change}, ${closeAll}`);
}

/** Stops a stream. Returns a function that starts it. */
export function stopStream(env: Environment, name: string): () => void {
  const stream = `rabbit_misc:r(<<"/">>, queue, <<"${name}">>)`;
  evaluate(env, `mnesia:dirty_delete(rabbit_queue, ${stream}), ${closeAll}`);
  return () =>
    evaluate(env, `[mnesia:dirty_write(rabbit_queue, One) || One <- mnesia:dirty_read(rabbit_durable_queue, ${stream})]`);
}

/** Evaluates an Erlang expression in the server. */
function evaluate({ RABBITMQ_DIST_PORT: _, ...env }: Environment, expression: string): void {
  // Without the port of the server, on which the command would listen too.
  const options = { env: { PATH: process.env.PATH, ...env }, stdio: "ignore" } as const;
  execFileSync(`${dirname(program)}/rabbitmqctl`, ["-q", "-n", env.RABBITMQ_NODENAME ?? "", "eval", `${expression}.`], options);
}
