import { z } from "zod";
import { rowId, secretText, slug, sourceName, text, timestamp } from "./common.ts";
import { operation, pageOf, paging } from "./operation.ts";

export const integration = z
  .object({
    id: z.uuid().describe("Id of the integration. Its webhook is `POST /webhook/<id>`."),
    source: sourceName,
    name: z.string(),
    credentials: z.record(z.string(), z.string()).describe("Stored credentials by name, with masked values."),
    missing: z.array(z.string()).describe("Credentials that the source still requires before it can post with this account."),
    agent_id: slug.nullable(),
    project_id: rowId.nullable(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: "Integration" });

const secretName = /secret|token|password|key/i;
const credentials = z
  .record(z.string().max(100), z.union([z.string().max(10_000), z.boolean(), z.number()]))
  .refine(
    (credentials) => !Object.entries(credentials).some(([name, value]) => secretName.test(name) && /^\s+$/.test(String(value))),
    "must not have a secret of only spaces",
  )
  .refine((credentials) => Object.keys(credentials).length > 0, "must have at least one member, for example token")
  .refine((credentials) => Object.keys(credentials).length <= 100, "must have at most 100 members")
  .describe(
    "Settings of one account on the platform, for example `token`. `webhook_secret` verifies its webhooks; `webhook_secret_previous` also does while you replace the secret. Write-only.",
  );
const owner = {
  agent_id: slug.nullish().describe("Agent that uses this account."),
  project_id: rowId.nullish().describe("Project in which agents use this account."),
};

export const list = operation({
  id: "integrations.list",
  http: "GET /api/integrations",
  rpc: "IntegrationService.ListIntegrations",
  summary: "List integrations",
  description: "Credentials are masked.",
  input: z.object(paging),
  output: pageOf(integration),
});
export const get = operation({
  id: "integrations.get",
  http: "GET /api/integrations/:id",
  rpc: "IntegrationService.GetIntegration",
  summary: "Get an integration",
  description: "Credentials are masked.",
  input: z.object({ id: z.uuid() }),
  output: integration,
  problems: ["not_found"],
});
export const create = operation({
  id: "integrations.create",
  http: "POST /api/integrations",
  scope: "admin",
  rpc: "IntegrationService.CreateIntegration",
  summary: "Create an integration",
  description: "Stores the encrypted credentials of one platform account, for an agent, a project or its own webhook.",
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
  summary: "Update an integration",
  description: "`credentials` replaces all stored credentials. If a value is sent back masked, the stored value is kept.",
  input: z.object({ id: z.uuid(), name: text(200).optional(), credentials: credentials.optional(), ...owner }),
  output: integration,
  problems: ["not_found", "unavailable"],
});
export const remove = operation({
  id: "integrations.delete",
  http: "DELETE /api/integrations/:id",
  scope: "admin",
  rpc: "IntegrationService.DeleteIntegration",
  summary: "Delete an integration",
  description: "Also deletes its webhook.",
  input: z.object({ id: z.uuid() }),
  problems: ["not_found"],
});
const connectionStatus = z.enum(["ok", "failed", "not_configured"]).meta({ id: "ConnectionStatus" });
export const test = operation({
  id: "integrations.test",
  http: "GET /api/integrations/:source/test",
  rpc: "IntegrationService.TestIntegration",
  summary: "Test the connection of a source",
  description: "Tests the account configured by environment variables.",
  input: z.object({ source: sourceName }),
  output: z.object({ status: connectionStatus, source: sourceName }),
  problems: ["not_found"],
});
export const testStored = operation({
  id: "integrations.test-stored",
  http: "POST /api/integrations/:id/test",
  rpc: "IntegrationService.TestStoredIntegration",
  summary: "Test a stored integration",
  description: "Sends one request with the stored credentials. Nothing is written to the platform.",
  input: z.object({ id: z.uuid().describe("Id of the integration.") }),
  output: z.object({
    id: z.uuid(),
    source: sourceName,
    status: connectionStatus,
    account: z.string().nullable().describe("Login of the account on the platform, if the platform reports it."),
    message: z.string().describe("The platform's response, or the missing or invalid value."),
  }),
  problems: ["not_found"],
});
export const rotate = operation({
  id: "integrations.rotate-secret",
  http: "POST /api/integrations/:id/rotate-secret",
  scope: "admin",
  rpc: "IntegrationService.RotateIntegrationSecret",
  summary: "Replace the webhook secret of an integration",
  description:
    "The stored secret becomes `webhook_secret_previous`. Webhooks are accepted with either secret until an update omits the previous one. `GET /api/status` shows when it was last used.",
  input: z.object({
    id: z.uuid(),
    webhook_secret: secretText(1_000).min(16).optional().describe("The new secret. Default: a random one."),
  }),
  output: integration
    .extend({
      webhook_secret: z
        .string()
        .nullable()
        .describe("Random secret, which is not shown again; null if the request contained a secret."),
    })
    .meta({ id: "RotatedIntegration" }),
  problems: ["not_found", "wrong_state"],
});
export const reencrypt = operation({
  id: "integrations.reencrypt",
  http: "POST /api/integrations/reencrypt",
  rpc: "IntegrationService.ReencryptIntegrations",
  summary: "Re-encrypt stored secrets",
  description:
    "Encrypts all stored credentials, webhook secrets and knowledge source secrets with the first key of `ENCRYPTION_KEY`.",
  output: z.object({
    reencrypted: z.int().describe("Secrets that were encrypted again."),
    unchanged: z.int().describe("Secrets that were already encrypted with the first key."),
    failed: z.int().describe("Secrets that no key of `ENCRYPTION_KEY` can decrypt. The watchdog lists them."),
  }),
  scope: "admin",
  problems: ["unavailable"],
});
