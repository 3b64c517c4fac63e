import type { Reaction } from "@signalbox/sdk";
import { z } from "zod";
import type { Place } from "./address.ts";
import type { ClientOf } from "./client.ts";
import { type GiteaCall, login } from "./comments.ts";

const contents: Readonly<Record<Reaction, string>> = { working: "eyes", done: "+1", failed: "confused" };
const reactions = z.array(z.object({ user: z.object({ login: z.string() }).nullable(), content: z.string() })).nullable();

/** Replaces our reaction. The API deletes a reaction by its content. */
export async function react(
  client: ClientOf,
  path: Place & { readonly comment: string | null },
  reaction: Reaction | null,
  call: GiteaCall,
): Promise<void> {
  const { connection, signal } = call;
  const of = path.comment === null ? "{issue}" : "comments/{comment}";
  const route = `/repos/{owner}/{repo}/issues/${of}/reactions`;
  const { owner, repo, issue, comment } = path;
  const request = { path: { owner, repo, issue, ...(comment !== null && { comment }) }, signal };
  const { data } = await client(connection).read({ ...request, route: `GET ${route}`, schema: reactions });
  const signs = (data ?? []).filter(({ content }) => Object.values(contents).includes(content));
  const account = signs.length > 0 ? await login(client, call) : null;
  const own = signs.filter(({ user }) => user?.login === account).map(({ content }) => content);
  const wanted = reaction && contents[reaction];
  const send = (method: string, content: string) =>
    client(connection).write({ ...request, route: `${method} ${route}`, body: { content }, schema: z.unknown() });
  if (wanted && !own.includes(wanted)) await send("POST", wanted);
  for (const content of own) if (content !== wanted) await send("DELETE", content);
}
