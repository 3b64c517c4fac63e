import { itemOrNull, timeText, valueAt } from "@signalbox/sdk";
import { z } from "zod";
import { isMarked } from "./bodies.ts";

/** Name of the comment property that holds the key. */
export const ownProperty = "signalbox";

/** The members of the platform's responses that are used. Cloud identifies accounts by id, Server by name. */
const user = z.looseObject({
  accountId: z.string().nullish(),
  name: z.string().nullish(),
  key: z.string().nullish(),
  displayName: z.string().nullish(),
});

export const account = user;
export const permissions = z.object({ permissions: z.record(z.string(), z.object({ havePermission: z.boolean() })) });
export const properties = z.array(z.object({ key: z.string(), value: z.unknown() }));
const id = z.union([z.string(), z.number()]).transform(String);
/** Kept whole, with its people: the poll passes comments to `parse`. */
export const comment = z.looseObject({
  id,
  body: z.unknown().optional(),
  author: user.nullish(),
  created: z.string().nullish(),
  updated: z.string().nullish(),
  properties: properties.optional(),
});
const commentList = <T extends z.ZodType>(item: T) =>
  z.object({ comments: z.array(item), total: z.number().default(0), startAt: z.number().default(0) });
/** Ours have a property of ours, or a marker in their text. */
function isForeignComment(one: unknown): boolean {
  if (one === null) return true;
  const [body, own] = [valueAt(one, "body"), properties.optional().safeParse(valueAt(one, "properties"))];
  return body !== undefined && !isMarked(body) && own.success && !own.data?.some(({ key }) => key === ownProperty);
}
/** A malformed one is null. */
export const shownComments = commentList(itemOrNull(comment));
/** Those among which one of ours is looked for. A malformed one is null if it is not ours. */
export const comments = commentList(itemOrNull(comment, isForeignComment));
const nameShape = z.object({ name: z.string() });
export const issue = z.object({
  id: z.string(),
  key: z.string(),
  fields: z.object({
    summary: z.string().nullish(),
    description: z.unknown(),
    status: nameShape.nullish(),
    issuetype: nameShape.nullish(),
    priority: nameShape.nullish(),
    labels: z.array(z.string()).nullish(),
    assignee: user.nullish(),
    reporter: user.nullish(),
    created: z.string().nullish(),
    updated: z.string().nullish(),
    security: z.unknown().optional(),
  }),
});
export const transitions = z.object({
  transitions: z.array(z.object({ id: z.string(), name: z.string(), to: nameShape.loose().nullish() })),
});
export const createdIssue = z.object({ key: z.string() });
export const issueFields = z.looseObject({ key: z.string(), fields: z.record(z.string(), z.unknown()) });
export const project = z.object({
  issueTypes: z.array(z.object({ id: z.string(), name: z.string(), subtask: z.boolean().nullish() })),
});
/** A webhook of an administrator: Cloud and older servers use `self` and `enabled`, newer servers `id` and `active`. */
export const hook = z.looseObject({
  self: z.string().nullish(),
  id: z.union([z.number(), z.string()]).nullish(),
  url: z.string(),
  events: z.array(z.string()).nullish(),
  enabled: z.boolean().nullish(),
  active: z.boolean().nullish(),
  excludeBody: z.boolean().nullish(),
  configuration: z.record(z.string(), z.unknown()).nullish(),
});
export const hooks = z.union([z.array(hook), z.looseObject({ values: z.array(hook) })]);
export const ignoredBody = z.unknown();

/** Found issues keep all their members, because the poll passes them to `parse` in the shape of a webhook. */
export const changedIssue = z.looseObject({
  key: z.string(),
  fields: z.looseObject({ updated: timeText, created: timeText.nullish() }),
  changelog: z.object({ histories: z.unknown() }).nullish(),
});
export const history = z.looseObject({ id: z.string(), author: z.unknown(), created: timeText, items: z.unknown() });
export const polledComment = comment.extend({ created: timeText });
export const anything = z.unknown();
export const polledComments = z.object({ comments: z.unknown(), total: z.number().default(0) });
export const searchPage = z.object({
  issues: z.array(z.unknown()),
  nextPageToken: z.string().nullish(),
  total: z.number().nullish(),
});
