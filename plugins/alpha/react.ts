import { ifCode, PluginError, type Reaction, type ReactionTarget } from "@signalbox/sdk";
import type { Client } from "./client.ts";
import { placeOf } from "./place.ts";
import * as shapes from "./shapes.ts";

const contents: Readonly<Record<Reaction, string>> = { working: "eyes", done: "+1", failed: "confused" };

/**
 * Replaces our reaction. For a reaction that already exists, the platform answers 200 with its user, so a post also shows which of
 * the other reactions are ours: an app's token cannot read its own user.
 */
export async function react(client: Client, target: ReactionTarget, reaction: Reaction | null, signal: AbortSignal) {
  const { route, address } = reactionsOf(target);
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
      .write(`DELETE ${route}/{reaction_id}`, { ...address, reaction_id: String(id) }, shapes.ignoredBody, signal)
      .catch(ifCode("not_found", null));
  }
}

/** Routes of the reactions of comments, by the kind that `parse` puts in front of the id. */
const lists: Readonly<Record<string, string>> = {
  "": "/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
  review_comment: "/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions",
  commit_comment: "/repos/{owner}/{repo}/comments/{comment_id}/reactions",
};

function reactionsOf({ subject, comment }: ReactionTarget): { route: string; address: Record<string, string | number> } {
  const { owner, repo, ...place } = placeOf(subject);
  if (comment === null && place.kind === "issue")
    return {
      route: "/repos/{owner}/{repo}/issues/{issue_number}/reactions",
      address: { owner, repo, issue_number: place.issue_number },
    };
  const [, kind = "", comment_id = ""] = /^(?:(\w+):)?(\d{1,19})$/.exec(comment ?? "") ?? [];
  const route = Object.hasOwn(lists, kind) && comment_id !== "" ? lists[kind] : undefined;
  if (route) return { route, address: { owner, repo, comment_id } };
  throw new PluginError("invalid_input", `alpha has no reactions on ${JSON.stringify((comment ?? subject.issue).slice(0, 100))}`);
}
