import { z } from "zod";

/** One account of one workspace. */
export const settings = z.object({
  url: z
    .url({ protocol: /^https?$/ })
    .default("https://api.linear.app")
    .describe("URL of the API. Set it only for a proxy."),
  token: z.string().min(1).optional().describe("API key (lin_api_…) or OAuth access token, with the scopes read and write."),
  webhook_secret: z.string().min(1).optional().describe("Webhook signing secret. Without it, all webhooks are refused."),
});
export type Settings = z.output<typeof settings>;
