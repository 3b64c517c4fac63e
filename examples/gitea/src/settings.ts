import { z } from "zod";

/** One account at one server. The plugin has no hosts of its own: it reaches the server that is named here. */
export const settings = z.object({
  url: z.url({ protocol: /^https?$/ }).describe("Address of the server, for example https://codeberg.org."),
  token: z.string().min(1).optional().describe("Access token that may read and write issues."),
  webhook_secret: z.string().min(1).optional().describe("Secret of the webhook; without it none is accepted."),
});
export type Settings = z.output<typeof settings>;
