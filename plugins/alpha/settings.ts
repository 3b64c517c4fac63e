import { z } from "zod";

/** One account at the platform. */
export const settings = z.object({
  token: z.string().min(1).optional().describe("Token that may read and write issues of the repositories."),
  api_url: z
    .url({ protocol: /^https?$/ })
    .default("https://api.github.com")
    .describe("Address of the REST API; for an own server https://HOST/api/v3."),
  webhook_secret: z.string().min(1).optional().describe("The secret set at the webhook; absent: unsigned webhooks are accepted."),
});
export type Settings = z.output<typeof settings>;
