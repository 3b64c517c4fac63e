import { itemOrNull, type Json, timeText, valueAt } from "@signalbox/sdk";
import { z } from "zod";

/** Value of `external_source` in our comments; their `external_id` is the key. */
export const externalSource = "signalbox";

/** The members of the platform's responses that are used. */
const id = z.union([z.string(), z.number()]).transform(String);
export const comment = z.object({
  id,
  comment_html: z.string().nullish(),
  external_id: z.string().nullish(),
  external_source: z.string().nullish(),
  actor: z.string().nullish(),
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
  edited_at: z.string().nullish(),
  access: z.string().nullish(),
});
export const account = z.object({ id, display_name: z.string().nullish() });
export const project = z.object({ id, name: z.string().nullish(), identifier: z.string().nullish() });
/** Whether a project has a public board. */
export const published = z.object({ is_deployed: z.boolean().nullish() });
const named = z.union([z.string(), z.object({ id, name: z.string().nullish() })]);
export const issue = z.object({
  id,
  name: z.string(),
  description_html: z.string().nullish(),
  description_stripped: z.string().nullish(),
  sequence_id: z.number().nullish(),
  priority: z.string().nullish(),
  state: named.nullish(),
  labels: z.array(named).nullish(),
  created_at: z.string().nullish(),
  updated_at: z.string().nullish(),
});
/** The same with its author. */
export const describedIssue = issue.extend({ created_by: z.string().nullish() });
export const member = z.object({
  id,
  display_name: z.string().nullish(),
  first_name: z.string().nullish(),
  role: z.number().nullish(),
});
export const label = z.object({ id, name: z.string() });
export const state = z.object({ id, name: z.string(), group: z.string().nullish() });
/** A created issue is kept whole: it becomes the payload of an event. */
export const createdIssue = z.looseObject({ id: z.string() });
export const polledIssue = z.looseObject({ id: z.string(), updated_at: timeText, created_at: timeText });
/** A comment or an activity of a polled issue. */
export const polledDetail = z
  .object({ created_at: timeText })
  .catchall(z.json())
  .transform((row): Json => row);
/** What a poll reads item by item. */
export const polled = z.unknown();
/** Comments and activities are kept whole. */
export const anyObject = z.record(z.string(), z.json()).transform((row): Json => row);
/** A webhook of the workspace. Its secret is shown only once, when it is created. */
export const hook = z.object({
  id,
  url: z.string(),
  is_active: z.boolean().nullish(),
  scopes: z.array(z.string()).nullish(),
  version: z.string().nullish(),
});

/** An answer without a body. */
export const ignoredBody = z.unknown();

/** Lists are paged; older servers return them whole. */
const listOf = <T extends z.ZodType>(item: T) =>
  z.union([
    z.object({ results: z.array(item), next_cursor: z.string().nullish(), next_page_results: z.boolean().nullish() }),
    z.array(item).transform((results) => ({ results, next_cursor: null, next_page_results: false })),
  ]);
/** Ours have an id of ours. Those of people have none. */
function isForeignComment(one: unknown): boolean {
  const [id, source] = [valueAt(one, "external_id"), valueAt(one, "external_source")];
  return one === null || id === null || source === null || (typeof source === "string" && source !== externalSource);
}
/** Made once, because making a schema costs more than reading an answer with it. */
export const lists = {
  /** The lists of a polled issue, of any form. */
  anything: z.union([
    listOf(z.unknown()),
    z.unknown().transform((results) => ({ results, next_cursor: null, next_page_results: false })),
  ]),
  /** A malformed one is null. */
  shownComments: listOf(itemOrNull(comment)),
  /** Those among which one of ours is looked for. A malformed one is null if it is not ours. */
  comments: listOf(itemOrNull(comment, isForeignComment)),
  hooks: listOf(hook),
  issues: listOf(z.unknown()),
  labels: listOf(label),
  members: listOf(member),
  projects: listOf(project),
  states: listOf(state),
};
