import { PluginError, type Reaction, type ReactionTarget } from "@signalbox/sdk";
import { addressOfSubject } from "./address.ts";
import type { Client } from "./client.ts";
import * as shapes from "./shapes.ts";

const contents: Readonly<Record<Reaction, string>> = { working: "eyes", done: "+1", failed: "confused" };

/**
 * Replaces our reaction. A reaction that is already there is answered with 200 and whose it is, so a post also tells which of
 * the others are ours: an app's token cannot read its user.
 */
export async function react(client: Client, target: ReactionTarget, reaction: Reaction | null, signal: AbortSignal) {
  const { owner, repo, issue_number } = addressOfSubject(target.subject);
  const route =
    target.comment === null
      ? "/repos/{owner}/{repo}/issues/{issue_number}/reactions"
      : "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions";
  const address = { owner, repo, ...(target.comment === null ? { issue_number } : { comment_id: idOf(target.comment) }) };
  const post = async (content: string) =>
    (await client.write(`POST ${route}`, { ...address, content }, shapes.reaction, signal)).data;
  const wanted = reaction && (await post(contents[reaction]));
  const { data } = await client.read(`GET ${route}`, { ...address, per_page: 100 }, shapes.reactions, signal);
  const signs = data.filter(({ content }) => Object.values(contents).includes(content));
  const others = signs.filter(({ id }) => id !== wanted?.id);
  const [first] = others;
  if (!first) return;
  const own = wanted ?? (await post(first.content));
  const extra = others.some(({ id }) => id === own.id) || own === wanted ? [] : [own];
  for (const { id, user } of [...others, ...extra]) {
    if (user?.login !== own.user?.login) continue;
    await client
      .write(`DELETE ${route}/{reaction_id}`, { ...address, reaction_id: String(id) }, shapes.nothing, signal)
      .catch((error) => {
        if (!(error instanceof PluginError) || error.code !== "not_found") throw error;
      });
  }
}

function idOf(comment: string): string {
  if (/^\d{1,19}$/.test(comment)) return comment;
  throw new PluginError("invalid_input", `alpha has no reactions on ${JSON.stringify(comment.slice(0, 100))}`);
}
