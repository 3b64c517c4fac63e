import * as audit from "@signalbox/schema/audit";
import { problem } from "@signalbox/schema/problem";
import { hasAgent } from "../capabilities/queries.ts";
import type { Queryable } from "../platform/database/client.ts";
import { handle } from "../platform/operation.ts";
import { listAuditEntries, listAuditTrails, sumAgent } from "./queries.ts";

async function demandAgent(sql: Queryable, id: string): Promise<void> {
  if (!(await hasAgent(sql, id))) throw problem("not_found", `There is no agent "${id}".`);
}

export const auditOperations = [
  handle(audit.listEntries, async (input, { sql }) => {
    await demandAgent(sql, input.id);
    return listAuditEntries(sql, input);
  }),
  handle(audit.listTrails, async (input, { sql }) => {
    await demandAgent(sql, input.id);
    return listAuditTrails(sql, input);
  }),
  handle(audit.usageStats, async ({ id }, { sql }) => {
    await demandAgent(sql, id);
    return sumAgent(sql, id);
  }),
];
