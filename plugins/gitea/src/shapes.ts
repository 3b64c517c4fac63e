import { timeText } from "@signalbox/sdk";
import { z } from "zod";

export const user = z.looseObject({ id: z.int(), login: z.string() });
export const label = z.looseObject({ id: z.int(), name: z.string() });
export const issue = z.looseObject({
  number: z.int(),
  title: z.string(),
  body: z.string().nullish(),
  state: z.string(),
  html_url: z.string(),
  user: user.nullish(),
  labels: z.array(label).nullish(),
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
  closed_at: z.string().nullish(),
  /** Present for a pull request. */
  pull_request: z.looseObject({ merged: z.boolean().nullish() }).nullish(),
});
export type Issue = z.output<typeof issue>;
export const comment = z.looseObject({
  id: z.int(),
  body: z.string(),
  html_url: z.string(),
  user: user.nullish(),
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
});
export type Comment = z.output<typeof comment>;
const times = { created_at: timeText, updated_at: timeText.nullish() };
export const polledIssue = issue.extend({ ...times, closed_at: timeText.nullish() });
/** It names its issue or its pull request. */
export const polledComment = comment
  .extend(times)
  .refine((one) => /\/(?:issues|pulls)\/\d+$/.test(String(one.issue_url || one.pull_request_url || "")), "names no issue");
export const hook = z.looseObject({
  id: z.int(),
  active: z.boolean(),
  events: z.array(z.string()),
  config: z.looseObject({ url: z.string().nullish() }),
});
export const repository = z.looseObject({ full_name: z.string(), private: z.boolean() });
export const ignoredBody = z.unknown();
