import { z } from "zod";

/** One account at the platform. */
export const settings = z.object({
  api_url: z
    .url({ protocol: /^https?$/ })
    .default("https://api.plane.so")
    .describe("URL of the server. /api/v1 is added if it has no path."),
  api_key: z
    .string()
    .min(1)
    .optional()
    .describe("API key for the account. A webhook with the header X-API-Key must carry this key."),
  workspace_slug: z.string().min(1).optional().describe("Workspace slug, as in its URL."),
  webhook_secret: z.string().min(1).optional().describe("Secret that the platform generated for the webhook."),
});
export type Settings = z.output<typeof settings>;

/** URL of the API, without a trailing slash. */
export function apiOf({ api_url }: Settings): string {
  const address = api_url.replace(/\/+$/, "");
  return new URL(api_url).pathname === "/" ? `${address}/api/v1` : address;
}

/** URL of the web pages. */
export function webUrlOf({ api_url }: Settings): string {
  const { hostname, origin } = new URL(api_url);
  return hostname === "api.plane.so" ? "https://app.plane.so" : origin;
}
