import { z } from "zod";

/** One account at one server. The plugin declares no hosts: it may reach the server that is configured here. */
export const settings = z.object({
  url: z.url({ protocol: /^https?$/ }).describe("URL of the server, for example https://codeberg.org."),
  token: z.string().min(1).optional().describe("Access token with read and write access to issues."),
  webhook_secret: z.string().min(1).optional().describe("Webhook secret. Without it, all webhooks are refused."),
});
export type Settings = z.output<typeof settings>;
