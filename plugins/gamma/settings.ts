import { z } from "zod";

const yes = ["true", "1", "yes"] as const;
const no = ["false", "0", "no"] as const;

/** One account at the platform. */
export const settings = z.object({
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("URL of the site, for example https://YOURS.atlassian.net, or of a self-hosted server with its path."),
  email: z
    .string()
    .min(1)
    .optional()
    .describe("Cloud: account email address. Server: user name, only if api_token is a password."),
  api_token: z
    .string()
    .min(1)
    .optional()
    .describe("Cloud: API token for the account. Server: personal access token, or password."),
  is_cloud: z
    .union([z.boolean(), z.enum([...yes, ...no])])
    .default(true)
    .transform((value) => value === true || yes.some((word) => word === value))
    .describe("Set to false for Server and Data Center, which have API version 2 and wiki markup. Default: true."),
  webhook_secret: z.string().min(1).optional().describe("Webhook secret. Without it, unsigned webhooks are accepted."),
});
export type Settings = z.output<typeof settings>;

/** URL of the web pages, without a trailing slash. */
export const webUrlOf = ({ url }: Settings): string => (url ?? "").replace(/\/+$/, "");
