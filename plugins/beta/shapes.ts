import { isUnmarked, itemOrNull, timeText } from "@signalbox/sdk";
import { z } from "zod";

/** The members of the platform's responses that are used. */
const user = z.object({ username: z.string() }).nullish();

/** What is read of a note after it was written. */
export const writtenNote = z.looseObject({ id: z.number() });
export const note = z.object({
  id: z.number(),
  body: z
    .string()
    .nullish()
    .transform((body) => body ?? ""),
  author: user,
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
  system: z.boolean().optional(),
  /** Visible to members only; older servers call it `confidential`. */
  internal: z.boolean().nullish(),
  confidential: z.boolean().nullish(),
});
/** A malformed one is null. */
export const shownNotes = z.array(itemOrNull(note));
/** Those among which one of ours is looked for. A malformed one is null if it is not ours. */
export const notes = z.array(itemOrNull(note, isUnmarked));
export const awards = z.array(z.object({ id: z.number(), name: z.string(), user }));
export const account = z.object({ username: z.string() });
export const accessToken = z.object({ scopes: z.array(z.string()) });
export const issue = z.object({
  iid: z.number(),
  title: z.string().nullish(),
  state: z.string().nullish(),
  description: z.string().nullish(),
  web_url: z.string().nullish(),
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
  labels: z.array(z.string()).nullish(),
  author: user,
  confidential: z.boolean().nullish(),
});

/** What is read of an issue after a change. */
export const changedIssue = z.object({ iid: z.number().optional(), web_url: z.string().nullish() });

/** A created issue is kept whole: it becomes the payload of an event. */
export const createdIssue = issue
  .extend({ title: z.string().optional(), state: z.string().default("opened"), web_url: z.string() })
  .loose();

/** List items keep all their members, because the poll passes them to `parse` in the shape of a webhook. */
export const listItems = z.array(z.unknown());
export const listItem = z.looseObject({ iid: z.number(), updated_at: timeText });

/** A list that belongs to an item of a poll. */
export const detailList = z.unknown();
export const polledNote = note.extend({ created_at: timeText, updated_at: timeText.nullish() });
/** The event of one label. */
export const labelEvent = z.looseObject({ created_at: timeText });

/** An answer without a body. */
export const ignoredBody = z.unknown();

/** A thread; that of a commit has its notes with it. */
const threadNote = z.object({ id: z.number(), body: z.string() });
export const discussion = z.object({ id: z.string(), notes: z.tuple([threadNote], threadNote) });
export const discussions = z.array(z.object({ id: z.string(), notes: z.array(itemOrNull(threadNote, isUnmarked)) }));
export const epic = z.object({ id: z.number() });
export const confidentiality = z.object({ confidential: z.boolean().nullish() });
/** A member of a project or group. */
export const member = z.object({ access_level: z.number() });
export const members = z.array(member);

/** A webhook of a project: a switch for each kind of event. */
export const hook = z.looseObject({
  id: z.number(),
  url: z.string(),
  alert_status: z.string().nullish(),
  enable_ssl_verification: z.boolean().nullish(),
});
export const hooks = z.array(hook);
