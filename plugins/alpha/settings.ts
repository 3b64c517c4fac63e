import { z } from "zod";

/** One account at the platform. */
export const settings = z.object({
  token: z.string().min(1).optional().describe("Token with read and write access to the issues of the repositories."),
  api_url: z
    .url({ protocol: /^https?$/ })
    .default("https://api.github.com")
    .describe("URL of the REST API; for a self-hosted server https://HOST/api/v3."),
  webhook_secret: z.string().min(1).optional().describe("Webhook secret. Without it, unsigned webhooks are accepted."),
});
export type Settings = z.output<typeof settings>;
