import { z } from "zod";

/** What is read of the platform's answers; they carry far more. */
const user = z.object({ username: z.string() }).nullish();

export const note = z.object({
  id: z.number(),
  body: z.string(),
  author: user,
  created_at: z.string().optional(),
  system: z.boolean().optional(),
  /** For members only; older servers say `confidential`. */
  internal: z.boolean().nullish(),
  confidential: z.boolean().nullish(),
});
export const notes = z.array(note);
export const account = z.object({ username: z.string() });
export const issue = z.object({
  iid: z.number(),
  title: z.string(),
  state: z.string(),
  description: z.string().nullish(),
  web_url: z.string(),
  updated_at: z.string().optional(),
  labels: z.array(z.string()).default([]),
  author: user,
});

/** An issue that was made goes on as it is, told as a webhook tells of it. */
export const made = issue.loose();

/** Listed items go on as they are: the poll hands them to `parse` as webhooks would. */
export const listed = z.array(z.looseObject({ iid: z.number(), updated_at: z.string() }));

/** Edits of labels, one label each, as they are. */
export const labelEvents = z.array(z.looseObject({}));
