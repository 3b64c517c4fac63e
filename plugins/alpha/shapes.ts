import { isUnmarked, itemOrNull, timeText } from "@signalbox/sdk";
import { z } from "zod";

/** The members of the platform's responses that are used. */
const id = z.union([z.number(), z.bigint()]);
const user = z.object({ login: z.string() }).nullish();

const times = { created_at: z.string().nullish(), updated_at: z.string().nullish() };

/** The author's relation to the repository, for example MEMBER: GitHub's `author_association`. */
const author_association = z.string().nullish();

/** Address on the platform's website. Servers that only resemble the platform may leave it out. */
const html_url = z.string().nullish();

export const comment = z.object({ id, html_url, body: z.string().nullish(), user, author_association, ...times });
/** A malformed one is null. */
export const shownComments = z.array(itemOrNull(comment));
/** Those among which one of ours is looked for. A malformed one is null if it is not ours. */
export const comments = z.array(itemOrNull(comment, isUnmarked));
export const reaction = z.object({ id, content: z.string(), user });
export const reactions = z.array(reaction);
export const account = z.object({ login: z.string() });
export const anyObject = z.record(z.string(), z.unknown());
/** `null` if a server answers something else. */
export const pull = anyObject.nullable().catch(null);
export const issue = z.object({
  number: z.number(),
  title: z.string().nullish(),
  state: z.string().nullish(),
  body: z.string().nullish(),
  html_url,
  comments: z.number().nullish(),
  user,
  author_association,
  labels: z.array(z.union([z.string(), z.object({ name: z.string().nullish() })])).nullish(),
  ...times,
});
/** What is read of an issue after a change. */
export const changedIssue = z.object({ number: z.number().optional(), html_url });
export const label = z.object({
  name: z.string(),
  color: z.string().optional(),
  description: z.string().nullish(),
  url: z.string().optional(),
});
/** What is read of a label after it was created. */
export const createdLabel = label.partial();
export const labels = z.array(label);

/** List items keep all their members, because the poll passes them to `parse` in the shape of a webhook. */
export const listItems = z.array(z.unknown());
export const polledIssue = z.looseObject({ updated_at: timeText, created_at: timeText.nullish(), closed_at: timeText.nullish() });
export const polledComment = z.looseObject({
  updated_at: timeText,
  created_at: timeText,
  issue_url: z.string().regex(/\/\d{1,15}$/),
});

/** An answer without a body. */
export const ignoredBody = z.unknown();

/** What an account may do in a repository. */
export const permission = z.object({ permission: z.string(), role_name: z.string().nullish() });

/** A webhook of a repository. The platform shows stars instead of its secret. */
export const hook = z.object({
  id: z.number(),
  active: z.boolean(),
  events: z.array(z.string()),
  config: z.object({
    url: z.string().nullish(),
    secret: z.string().nullish(),
    insecure_ssl: z.union([z.string(), z.number()]).nullish(),
  }),
  last_response: z.object({ code: z.number().nullish() }).nullish(),
});
export const hooks = z.array(hook);
