import { z } from "zod";

/** One account at the platform. */
export const settings = z.object({
  url: z
    .url({ protocol: /^https?$/ })
    .default("https://gitlab.com")
    .describe("Address of the server; for an own one https://HOST, with its path where it has one."),
  token: z
    .string()
    .min(1)
    .optional()
    .describe("Access token with the scope api. While no webhook secret is set, webhooks must carry it."),
  webhook_secret: z.string().min(1).optional().describe("The secret token set at the webhook."),
});
export type Settings = z.output<typeof settings>;

/** Address of the web pages, without a slash at its end. */
export const webOf = ({ url }: Settings): string => url.replace(/\/+$/, "").replace(/\/api\/v4$/, "");
