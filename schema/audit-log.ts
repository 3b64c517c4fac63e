import { z } from "zod";
import { timestamp } from "./common.ts";
import { historyFilter, historyOf } from "./history.ts";
import { operation } from "./operation.ts";

/** One change by an operator. */
export const auditLogEntry = z
  .object({
    seq: z.int().describe("Number of the entry; numbers have no gaps."),
    actor: z.string().describe("Name of the API key; `anonymous` while there are no keys."),
    operation: z
      .string()
      .describe(
        "Id of the operation, for example agents.update. `data.erase.start` is the beginning of an erasure; its end has the same `request_id`.",
      ),
    object: z.string().describe("Object that was changed, for example agents/pm_default."),
    before: z
      .unknown()
      .describe(
        "The object before the change; null if there was none. It is read before the change begins, so entries of concurrent changes can have the same one. Secrets are masked, and text from issues, people and models is omitted.",
      ),
    after: z
      .unknown()
      .describe(
        "Response of the operation; null if it has none. For the beginning of an erasure, the request. For an interrupted one, the request with `is_complete: false` and the reason as `error`. For a change whose result is unknown, because the service stopped, the database failed or an error occurred, the members of the request that responses contain, with `is_complete: false` and the reason as `error`: check whether the change was made. Secrets are masked, and text from issues, people and models is omitted.",
      ),
    request_id: z.string(),
    created_at: timestamp.describe(
      "Time of the change. An entry that could not be appended at once has a higher number than later changes.",
    ),
    hash: z.string().describe("SHA-256 of the previous entry's hash and this entry, in hexadecimal."),
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
    actor: z.string().max(200).optional().describe("Return only changes by this API key."),
    operation: z.string().max(200).optional().describe("Return only changes by this operation, for example agents.update."),
    object: z.string().max(600).optional().describe("Return only changes to this object, for example agents/pm_default."),
  }),
  output: historyOf(auditLogEntry),
  scope: "admin",
});
export const verify = operation({
  id: "audit.verify",
  http: "GET /api/audit-log/verify",
  rpc: "MonitoringService.VerifyAuditLog",
  summary: "Verify the audit log",
  description: "Recomputes the hash chain and reports the first entry that does not match.",
  output: z
    .object({
      state: z.enum(["intact", "broken"]).meta({ id: "ChainState" }),
      entries: z.int(),
      first_seq: z.int().nullable().describe("Number of the oldest stored entry."),
      broken_at: z
        .int()
        .nullable()
        .describe("Number of the first entry that does not match the entry before it; null if all match."),
      hash: z.string().describe("Hash of the latest entry. Store it elsewhere to detect a rewrite of the whole log."),
    })
    .meta({ id: "AuditLogVerification" }),
  scope: "admin",
});
