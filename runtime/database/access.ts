import type { SqlAccess, Statement } from "@signalbox/sdk";
import type { Queryable, Sql } from "./client.ts";
import { oneTrip } from "./one-trip.ts";

/** The capability `sql`: the pool behind a plugin's statements. */
export function sqlAccess(sql: Sql): SqlAccess {
  const run = (on: Queryable, { text, parameters }: Statement) =>
    // Prepared, so that a statement takes one round trip instead of two.
    on.unsafe(text, parameters as never[], { prepare: parameters.length > 0 });
  return {
    query: async <Row>(statement: Statement) => [...(await run(sql, statement))] as Row[],
    transaction: async <Row>(statements: readonly Statement[]) => {
      const [first, ...rest] = statements;
      const plain = first && rest.length > 0 && first.parameters.length === 0 ? first.text : "";
      const results = await oneTrip(sql, (tx) => (plain ? rest : statements).map((statement) => run(tx, statement)), plain);
      return (results.at(-1) ?? []) as Row[];
    },
  };
}
