import { z } from "zod";

/** Comma-separated words, for example ids of users. */
const list = (about: string, fallback = "") =>
  z
    .string()
    .default(fallback)
    .transform((text) =>
      text
        .split(",")
        .map((one) => one.trim())
        .filter((one) => one !== ""),
    )
    .describe(about);

export const config = z.object({
  url: z
    .url({ protocol: /^https?$/ })
    .default("https://slack.com")
    .describe("URL of Slack. Set it only for a proxy."),
  channel: z.string().default("").describe("Channel id, for example C024BE91L. Default: nothing is posted."),
  approvers: list(
    "Ids of the Slack users who can approve, reject, stop and release, comma-separated: U024BE7LH. Default: no one.",
  ),
  notify: list(
    "Which executions are posted, comma-separated: waiting, held, failed, succeeded, cancelled. Default: waiting,held,failed,succeeded.",
    "waiting,held,failed,succeeded",
  ),
  console_url: z
    .string()
    .default("")
    .describe("URL of the console, for links to runs, for example https://signalbox.example.com. Default: no links."),
});
export type Config = z.output<typeof config>;
