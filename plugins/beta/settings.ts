import { z } from "zod";

/** One account at the platform. */
export const settings = z.object({
  url: z
    .url({ protocol: /^https?$/ })
    .default("https://gitlab.com")
    .describe("URL of the server; for a self-hosted one https://HOST, with its path if it has one."),
  token: z
    .string()
    .min(1)
    .optional()
    .describe("Access token with the api scope. Without a webhook secret, webhooks must carry this token."),
  webhook_secret: z.string().min(1).optional().describe("Webhook secret token."),
});
export type Settings = z.output<typeof settings>;

/** URL of the web pages, without a trailing slash. */
export const webUrlOf = ({ url }: Settings): string => url.replace(/\/+$/, "").replace(/\/api\/v4$/, "");
