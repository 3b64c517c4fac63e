import { ifCode, type Reaction, type ReactionTarget } from "@signalbox/sdk";
import { z } from "zod";
import { issueOf } from "./address.ts";
import type { Account } from "./comments.ts";
import { accountOf } from "./people.ts";
import * as shapes from "./shapes.ts";

const emojis: Readonly<Record<Reaction, string>> = { working: "eyes", done: "+1", failed: "confused" };
const reactions = z.array(z.object({ id: z.string(), emoji: z.string(), user: z.object({ id: z.string() }).nullish() }));

/** Replaces our reaction on an issue or a comment. */
export async function react(account: Account, { subject, comment }: ReactionTarget, reaction: Reaction | null): Promise<void> {
  const { client, signal } = account;
  const issue = issueOf(subject.issue, subject.project);
  const all = await reactionsOn(account, comment, issue);
  const signs = all.filter(({ emoji }) => Object.values(emojis).includes(emoji));
  const self = signs.length > 0 ? await accountOf(account) : null;
  const own = signs.filter(({ user }) => user?.id === self);
  const wanted = reaction && emojis[reaction];
  if (wanted && !own.some(({ emoji }) => emoji === wanted)) {
    const input = { emoji: wanted, ...(comment === null ? { issueId: issue } : { commentId: comment }) };
    const document = "mutation AddReaction($input: ReactionCreateInput!) { reactionCreate(input: $input) { success } }";
    await client.mutate({ document, variables: { input }, data: z.object({ reactionCreate: shapes.done }) }, signal);
  }
  for (const { id, emoji } of own) if (emoji !== wanted) await removeReaction(account, id);
}

async function reactionsOn({ client, signal }: Account, comment: string | null, issue: string) {
  const fields = "reactions { id emoji user { id } }";
  const of = z.object({ reactions });
  if (comment === null) {
    const document = `query ReactionsOfIssue($id: String!) { issue(id: $id) { ${fields} } }`;
    return (await client.query({ document, variables: { id: issue }, data: z.object({ issue: of }) }, signal)).issue.reactions;
  }
  const document = `query ReactionsOfComment($id: String!) { comment(id: $id) { ${fields} } }`;
  return (await client.query({ document, variables: { id: comment }, data: z.object({ comment: of }) }, signal)).comment
    .reactions;
}

async function removeReaction({ client, signal }: Account, id: string): Promise<void> {
  const document = "mutation RemoveReaction($id: String!) { reactionDelete(id: $id) { success } }";
  const data = z.object({ reactionDelete: shapes.done });
  await client.mutate({ document, variables: { id }, data }, signal).catch(ifCode("not_found", null));
}
