import { z } from "zod";
import { rowId, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const keyScopes = ["read", "write", "admin"] as const;
const scope = z.enum(keyScopes).meta({ id: "KeyScope" });

/** A key of the API. The key itself is never shown again. */
export const apiKey = z
  .object({
    id: rowId,
    name: z.string(),
    hint: z.string().describe("How the key begins."),
    scopes: z.array(scope).describe("admin implies write, write implies read."),
    created_at: timestamp,
    last_used_at: timestamp.nullable().describe("To the minute."),
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: "ApiKey" });

export const list = operation({
  id: "keys.list",
  http: "GET /api/keys",
  rpc: "KeyService.ListKeys",
  summary: "List the API keys, revoked ones too.",
  input: z.object(paging),
  output: pageOf(apiKey),
  scope: "admin",
});
export const create = operation({
  id: "keys.create",
  http: "POST /api/keys",
  rpc: "KeyService.CreateKey",
  summary: "Make an API key. It is shown this once. From the first key on, every request needs one.",
  input: z.object({
    name: text(100).describe("What it is for; no two keys in use have the same."),
    scopes: z.array(scope).min(1, "must have at least one of read, write, admin").max(10),
  }),
  output: apiKey.extend({ key: z.string().describe("The key: shown once, stored hashed.") }).meta({ id: "NewApiKey" }),
  status: 201,
  problems: ["conflict"],
  scope: "admin",
});
export const revoke = operation({
  id: "keys.revoke",
  http: "DELETE /api/keys/:id",
  rpc: "KeyService.RevokeKey",
  summary: "Revoke an API key, at once and for good. The API stays closed when it was the last.",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
  scope: "admin",
});
