import { z } from "zod";
import { address, headerValue, previousSecret, yesNo } from "../config-values.ts";

/** Accounts of the service at the trackers. */
export const trackers = {
  ALPHA_TOKEN: headerValue.describe("Token for alpha (GitHub) with write permission on issues."),
  ALPHA_API_URL: address.optional().describe("Base URL of alpha's API. Default: https://api.github.com."),
  ALPHA_WEBHOOK_SECRET: z.string().optional().describe("Secret that signs alpha's webhooks."),
  ALPHA_WEBHOOK_SECRET_PREVIOUS: previousSecret("ALPHA_WEBHOOK_SECRET"),
  BETA_URL: address.optional().describe("Base URL of beta (GitLab). Default: https://gitlab.com."),
  BETA_TOKEN: headerValue.describe("Token for beta with the scope `api`. Without `BETA_WEBHOOK_SECRET`, webhooks must carry it."),
  BETA_WEBHOOK_SECRET: z.string().optional().describe("Secret token of beta's webhooks."),
  BETA_WEBHOOK_SECRET_PREVIOUS: previousSecret("BETA_WEBHOOK_SECRET"),
  GAMMA_URL: address.optional().describe("Base URL of gamma (Jira)."),
  GAMMA_EMAIL: z
    .string()
    .optional()
    .describe("Email address of the gamma account. On Jira Server: user name, if the token is a password."),
  GAMMA_API_TOKEN: z.string().optional().describe("API token of the gamma account. On Jira Server: personal access token."),
  GAMMA_IS_CLOUD: yesNo(true).describe("Whether gamma is Jira Cloud. Set `false` for Jira Server and Data Center."),
  GAMMA_WEBHOOK_SECRET: z.string().optional().describe("Secret that signs gamma's webhooks."),
  GAMMA_WEBHOOK_SECRET_PREVIOUS: previousSecret("GAMMA_WEBHOOK_SECRET"),
  DELTA_API_URL: address.optional().describe("Base URL of delta's API (Plane). Default: https://api.plane.so."),
  DELTA_API_KEY: headerValue.describe("API key of the delta account. Webhooks can carry it in `X-API-Key`."),
  DELTA_WORKSPACE_SLUG: z.string().optional().describe("Slug of the delta workspace."),
  DELTA_WEBHOOK_SECRET: z.string().optional().describe("Secret that signs delta's webhooks."),
  DELTA_WEBHOOK_SECRET_PREVIOUS: previousSecret("DELTA_WEBHOOK_SECRET"),
} as const satisfies Record<string, z.ZodType>;
