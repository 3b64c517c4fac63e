import { z } from "zod";

/** One account at the platform. */
export const settings = z.object({
  api_url: z
    .url({ protocol: /^https?$/ })
    .default("https://api.plane.so")
    .describe("Address of the server; /api/v1 is added where it has no path."),
  api_key: z.string().min(1).optional().describe("API key of the account. Webhooks may carry it in X-API-Key."),
  workspace_slug: z.string().min(1).optional().describe("Slug of the workspace, as it stands in its address."),
  webhook_secret: z.string().min(1).optional().describe("Secret that the platform made for the webhook."),
});
export type Settings = z.output<typeof settings>;

/** Address of the API, without a slash at its end. */
export function apiOf({ api_url }: Settings): string {
  const address = api_url.replace(/\/+$/, "");
  return new URL(api_url).pathname === "/" ? `${address}/api/v1` : address;
}

/** Address of the web pages. */
export function webOf({ api_url }: Settings): string {
  const { hostname, origin } = new URL(api_url);
  return hostname === "api.plane.so" ? "https://app.plane.so" : origin;
}
