import { isUnmarked, itemOrNull } from "@signalbox/sdk";
import { z } from "zod";

const list = <T extends z.ZodType>(of: T) => z.object({ nodes: z.array(of) });
export const page = <T extends z.ZodType>(of: T) =>
  z.object({ nodes: z.array(of), pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.string().nullish() }) });

export const person = z.object({ id: z.string(), name: z.string().nullish(), displayName: z.string().nullish() });
export const state = z.object({ id: z.string(), name: z.string(), type: z.string() });
export const states = list(state.extend({ position: z.number().nullish() }));
export const label = z.object({ id: z.string(), name: z.string() });
export const labels = list(label);
export const team = z.object({ id: z.string(), key: z.string(), name: z.string().nullish() });

export const issue = z.object({
  id: z.string(),
  identifier: z.string(),
  title: z.string(),
  description: z.string().nullish(),
  url: z.string(),
  createdAt: z.string(),
  updatedAt: z.string(),
  state,
  team,
  labels,
  creator: person.nullish(),
  assignee: person.nullish(),
});
export type Issue = z.output<typeof issue>;
/** The members of `issue`. */
export const issueFields =
  "id identifier title description url createdAt updatedAt state { id name type } team { id key name } " +
  "labels(first: 50) { nodes { id name } } creator { id name displayName } assignee { id name displayName }";

export const comment = z.object({
  id: z.string(),
  body: z.string(),
  url: z.string(),
  createdAt: z.string(),
  user: person.nullish(),
});
export type Comment = z.output<typeof comment>;
/** The members of `comment`. */
export const commentFields = "id body url createdAt user { id name displayName }";
export const comments = list(comment);
/** A malformed one is null. */
export const shownComments = list(itemOrNull(comment));
/** Those among which one of ours is looked for. A malformed one is null if it is not ours. */
export const foundComments = list(itemOrNull(comment, isUnmarked));
export const issues = list(issue);

/** What every mutation answers. */
export const done = z.object({ success: z.literal(true) });
