import { z } from "zod";

/** The indexed part of one wiki. */
export const settings = z.object({
  base_url: z
    .url({ protocol: /^https?$/, error: "must be an http or https URL" })
    .describe("URL of the site, for example https://YOURS.atlassian.net, or of a self-hosted server with its path."),
  space_keys: z
    .array(z.string().trim().min(1, "must not be empty").max(255))
    .min(1, "must name at least one space")
    .max(100)
    .describe("Spaces whose pages are indexed."),
  is_cloud: z.boolean().default(true).describe("Set to false for Data Center and Server. Default: true."),
  email: z
    .string()
    .min(1)
    .optional()
    .describe("Cloud: account email address. Data Center: user name, only if api_token is a password."),
  api_token: z
    .string()
    .min(1)
    .optional()
    .describe(
      "Cloud: API token for the account. Data Center: personal access token, or password. Without it, only public pages are read.",
    ),
});
export type Settings = z.output<typeof settings>;

/** URL before the paths of pages: on Cloud it ends in /wiki. */
export function webUrlOf({ base_url, is_cloud }: Settings): string {
  const base = base_url.replace(/\/+$/, "");
  return is_cloud && !base.endsWith("/wiki") ? `${base}/wiki` : base;
}

export const apiOf = (one: Settings): string => `${webUrlOf(one)}${one.is_cloud ? "/api/v2" : "/rest/api"}`;

/** Space keys without duplicates. They are case-insensitive. */
export const spacesOf = ({ space_keys }: Settings): string[] => {
  const seen = new Map(space_keys.map((key) => [key.toLowerCase(), key]));
  return [...seen.values()];
};
