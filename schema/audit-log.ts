import { z } from "zod";
import { timestamp } from "./common.ts";
import { historyFilter, historyOf } from "./history.ts";
import { operation } from "./operation.ts";

/** One change by an operator. */
export const auditLogEntry = z
  .object({
    seq: z.int().describe("Number of the entry; numbers have no gaps."),
    actor: z.string().describe("Name of the API key; `anonymous` while there are no keys."),
    operation: z.string().describe("Id of the operation, for example agents.update."),
    object: z.string().describe("What was changed, for example agents/pm_default."),
    before: z.unknown().describe("The object before the change; null if there was none. Secrets are masked."),
    after: z.unknown().describe("The answer of the operation; null if it has none. Secrets are masked."),
    request_id: z.string(),
    created_at: timestamp,
    hash: z.string().describe("SHA-256 over the hash of the entry before and this entry, in hexadecimal."),
  })
  .meta({ id: "AuditLogEntry" });

export const list = operation({
  id: "audit-log.list",
  http: "GET /api/audit-log",
  rpc: "MonitoringService.ListAuditLog",
  summary: "List changes by operators",
  description: "Newest first.",
  input: z.object({
    ...historyFilter,
    actor: z.string().max(200).optional().describe("Changes by this API key only."),
    operation: z.string().max(200).optional().describe("Changes by this operation only, for example agents.update."),
    object: z.string().max(600).optional().describe("Changes of this object only, for example agents/pm_default."),
  }),
  output: historyOf(auditLogEntry),
  scope: "admin",
});
export const verify = operation({
  id: "audit.verify",
  http: "GET /api/audit-log/verify",
  rpc: "MonitoringService.VerifyAuditLog",
  summary: "Verify the audit log",
  description: "Computes the chain of hashes again and reports the first entry that does not fit.",
  output: z
    .object({
      state: z.enum(["intact", "broken"]).meta({ id: "ChainState" }),
      entries: z.int(),
      first_seq: z.int().nullable().describe("Number of the oldest entry that is kept."),
      broken_at: z.int().nullable().describe("Number of the first entry that does not fit the one before it."),
      hash: z.string().describe("Hash of the newest entry. Keep it elsewhere to notice a log that was rewritten as a whole."),
    })
    .meta({ id: "AuditLogVerification" }),
  scope: "admin",
});
