import { z } from "zod";

const yes = ["true", "1", "yes"] as const;
const no = ["false", "0", "no"] as const;

/** One account at the platform. */
export const settings = z.object({
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe("Address of the site, for example https://YOURS.atlassian.net, or of an own server with its path."),
  email: z
    .string()
    .min(1)
    .optional()
    .describe("Cloud: e-mail of the account. Server: its user name where api_token is a password."),
  api_token: z
    .string()
    .min(1)
    .optional()
    .describe("Cloud: API token of the account. Server: personal access token, or password."),
  is_cloud: z
    .union([z.boolean(), z.enum([...yes, ...no])])
    .default(true)
    .transform((value) => value === true || yes.some((word) => word === value))
    .describe("false for Server and Data Center, whose API is version 2 and whose texts are wiki markup."),
  webhook_secret: z.string().min(1).optional().describe("Secret of the webhook; absent: every webhook is accepted."),
});
export type Settings = z.output<typeof settings>;

/** Address of the web pages, without a slash at its end. */
export const webOf = ({ url }: Settings): string => (url ?? "").replace(/\/+$/, "");
