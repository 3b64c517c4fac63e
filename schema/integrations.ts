import { z } from "zod";
import { rowId, slug, sourceName, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const integration = z
  .object({
    id: z.uuid().describe("Also its webhook: POST /webhook/<id>."),
    source: sourceName,
    name: z.string(),
    credentials: z.record(z.string(), z.string()).describe("Names of what is stored, with masked values."),
    missing: z
      .array(z.string())
      .describe("Credentials that the source needs besides, before anything can be posted in this name."),
    agent_id: slug.nullable(),
    project_id: rowId.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Integration" });

const credentials = z
  .record(z.string().max(100), z.union([z.string().max(10_000), z.boolean(), z.number()]))
  .refine((given) => Object.keys(given).length > 0, "must hold something, for example a token")
  .describe(
    "Settings of one account at the platform, for example `token`; `webhook_secret` verifies its webhooks. Never shown again.",
  );
const owner = {
  agent_id: slug.nullish().describe("Agent that works with this account."),
  project_id: rowId.nullish().describe("Project in which agents work with this account."),
};

export const list = operation({
  id: "integrations.list",
  http: "GET /api/integrations",
  rpc: "IntegrationService.ListIntegrations",
  summary: "List integrations; their credentials are masked.",
  input: z.object(paging),
  output: pageOf(integration),
});
export const get = operation({
  id: "integrations.get",
  http: "GET /api/integrations/:id",
  rpc: "IntegrationService.GetIntegration",
  summary: "Get one integration; its credentials are masked.",
  input: z.object({ id: z.uuid() }),
  output: integration,
  problems: ["not_found"],
});
export const create = operation({
  id: "integrations.create",
  http: "POST /api/integrations",
  scope: "admin",
  rpc: "IntegrationService.CreateIntegration",
  summary: "Store an account at a platform, encrypted, for an agent, a project or the webhook of its own.",
  input: z.object({ source: sourceName, name: text(200), credentials, ...owner }),
  output: integration,
  status: 201,
  problems: ["unavailable"],
});
export const update = operation({
  id: "integrations.update",
  http: "PUT /api/integrations/:id",
  scope: "admin",
  rpc: "IntegrationService.UpdateIntegration",
  summary: "Update an integration; credentials are replaced as a whole, and a masked value that is sent back stays as it was.",
  input: z.object({ id: z.uuid(), name: text(200).optional(), credentials: credentials.optional(), ...owner }),
  output: integration,
  problems: ["not_found", "unavailable"],
});
export const remove = operation({
  id: "integrations.delete",
  http: "DELETE /api/integrations/:id",
  scope: "admin",
  rpc: "IntegrationService.DeleteIntegration",
  summary: "Delete an integration and its webhook.",
  input: z.object({ id: z.uuid() }),
  problems: ["not_found"],
});
export const test = operation({
  id: "integrations.test",
  http: "GET /api/integrations/:source/test",
  rpc: "IntegrationService.TestIntegration",
  summary: "Try the connection of a platform that the environment configures.",
  input: z.object({ source: sourceName }),
  output: z.object({ status: z.enum(["ok", "failed", "not_configured"]).meta({ id: "ConnectionStatus" }), source: sourceName }),
  problems: ["not_found"],
});
export const reencrypt = operation({
  id: "integrations.reencrypt",
  http: "POST /api/integrations/reencrypt",
  rpc: "IntegrationService.ReencryptIntegrations",
  summary:
    "Encrypt all stored credentials, webhook secrets and secrets of knowledge sources anew with the first key of ENCRYPTION_KEY.",
  output: z.object({
    reencrypted: z.int(),
    unchanged: z.int().describe("Encrypted with the first key already."),
    failed: z.int().describe("No key of ENCRYPTION_KEY decrypts them; the watchdog names them."),
  }),
  scope: "admin",
  problems: ["unavailable"],
});
