import type { SqlAccess, SqlStatement, VectorQuery } from "@signalbox/sdk";
import type { Sql } from "./client.ts";
import type { FindNearest } from "./nearest.ts";

/** The capability `sql`: the pool behind a plugin's statements. */
export const sqlAccess = (sql: Sql, nearest: FindNearest): SqlAccess => ({
  // Prepared, so that a statement takes one round trip instead of two.
  query: async <Row>({ text, parameters }: SqlStatement) =>
    [...(await sql.unsafe(text, parameters as never[], { prepare: parameters.length > 0 }))] as Row[],
  nearest: <Row>(query: VectorQuery) => nearest<Row>(query),
});
