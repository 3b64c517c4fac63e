import { z } from "zod";
import { rowId, slug, text, timestamp, zonedTime } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const keyScopes = ["agent", "read", "write", "admin"] as const;
const scope = z.enum(keyScopes).meta({ id: "KeyScope" });

/** An API key. The key itself is only shown when it is created. */
export const apiKey = z
  .object({
    id: rowId,
    name: z.string(),
    hint: z.string().describe("First characters of the key."),
    scopes: z.array(scope).describe("The key's scopes. `admin` includes `write` and `agent`; `write` includes `read`."),
    agent_ids: z.array(slug).nullable().describe("Agents that the key can register. Null: all agents."),
    projects: z.array(rowId).nullable().describe("Projects that the key is restricted to. Null: all projects."),
    expires_at: timestamp.nullable().describe("When the key expires. Null: never."),
    created_at: timestamp,
    last_used_at: timestamp.nullable().describe("When the key was last used, to the minute."),
    revoked_at: timestamp.nullable(),
  })
  .meta({ id: "ApiKey" });

export const list = operation({
  id: "keys.list",
  http: "GET /api/keys",
  rpc: "KeyService.ListKeys",
  summary: "List API keys",
  description: "Includes revoked keys.",
  input: z.object(paging),
  output: pageOf(apiKey),
  scope: "admin",
});
export const create = operation({
  id: "keys.create",
  http: "POST /api/keys",
  rpc: "KeyService.CreateKey",
  summary: "Create an API key",
  description: "The key is shown only in this response. Once a key exists, every request needs one.",
  input: z.object({
    name: text(100).describe("Key name. Unique among the keys that are not revoked."),
    scopes: z
      .array(scope)
      .min(1, "must contain at least one of agent, read, write, admin")
      .max(10)
      .describe("The key's scopes. `admin` includes `write` and `agent`; `write` includes `read`."),
    agent_ids: z
      .array(slug)
      .min(1)
      .max(100)
      .nullish()
      .describe("Agents that the key can register at the gateway. Requires the scope `agent`. Default: all agents."),
    projects: z
      .array(rowId)
      .min(1)
      .max(100)
      .nullish()
      .describe(
        "Projects that the key is restricted to: their executions, policy and workflow context, and nothing else. Default: all projects.",
      ),
    expires_at: zonedTime.nullish().describe("When the key expires, in ISO 8601 with a time zone. Default: never."),
  }),
  output: apiKey
    .extend({ key: z.string().describe("The API key. Shown only once and stored hashed.") })
    .meta({ id: "NewApiKey" }),
  status: 201,
  problems: ["already_exists"],
  scope: "admin",
});
export const revoke = operation({
  id: "keys.revoke",
  http: "DELETE /api/keys/:id",
  rpc: "KeyService.RevokeKey",
  summary: "Revoke an API key",
  description: "Takes effect immediately and cannot be undone. If it was the last key, the API still requires one.",
  input: z.object({ id: rowId }),
  problems: ["not_found"],
  scope: "admin",
});
