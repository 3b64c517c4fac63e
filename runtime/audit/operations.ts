import * as audit from "@signalbox/schema/audit";
import * as auditLog from "@signalbox/schema/audit-log";
import { problem } from "@signalbox/schema/problem";
import { hasAgent } from "../capabilities/queries.ts";
import type { Queryable } from "../platform/database/client.ts";
import { handle } from "../platform/operation.ts";
import { findMeant } from "../subject-names/queries.ts";
import { listLog, verifyLog } from "./log-queries.ts";
import { listAuditEntries, listAuditTrails, sumAgent } from "./queries.ts";

async function requireAgent(sql: Queryable, id: string): Promise<void> {
  if (!(await hasAgent(sql, id))) throw problem("not_found", `There is no agent "${id}".`);
}

/** `sources`: names of the sources that a subject may belong to. */
export const auditOperations = (sources: () => Iterable<string>) => [
  handle(auditLog.list, async ({ subject, ...filter }, { sql }) =>
    listLog(sql, { ...filter, subjects: subject === undefined ? undefined : await findMeant(sql, subject, sources()) }),
  ),
  handle(auditLog.verify, (_, { sql }) => verifyLog(sql)),
  handle(audit.listEntries, async (input, { sql }) => {
    await requireAgent(sql, input.id);
    return listAuditEntries(sql, input);
  }),
  handle(audit.listTrails, async (input, { sql }) => {
    await requireAgent(sql, input.id);
    return listAuditTrails(sql, input);
  }),
  handle(audit.usageStats, async ({ id }, { sql }) => {
    await requireAgent(sql, id);
    return sumAgent(sql, id);
  }),
];
