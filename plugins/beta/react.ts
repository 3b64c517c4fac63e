import { ifCode, type Reaction, type ReactionTarget } from "@signalbox/sdk";
import { accountOf } from "./account.ts";
import { addressOfSubject } from "./address.ts";
import type { Account } from "./client.ts";
import * as shapes from "./shapes.ts";

const names: Readonly<Record<Reaction, string>> = { working: "eyes", done: "thumbsup", failed: "confused" };

/** Replaces our award emoji. The platform refuses an emoji that is already set, so the existing ones are listed first. */
export async function react({ client, signal }: Account, target: ReactionTarget, reaction: Reaction | null): Promise<void> {
  const { project, kind, iid } = addressOfSubject(target.subject);
  const note = target.comment === null ? "" : "/notes/{note}";
  const route = `/projects/{project}/{kind}/{iid}${note}/award_emoji`;
  const path = { project, kind, iid, ...(target.comment !== null && { note: target.comment }) };
  const { data } = await client.read({ route: `GET ${route}`, path, query: { per_page: 100 }, schema: shapes.awards, signal });
  const signs = data.filter(({ name }) => Object.values(names).includes(name));
  const account = signs.length > 0 ? await accountOf(client, signal) : null;
  const own = signs.filter(({ user }) => user?.username === account);
  if (reaction && !own.some(({ name }) => name === names[reaction])) {
    const body = { name: names[reaction] };
    await client.write({ route: `POST ${route}`, path, body, schema: shapes.ignoredBody, signal });
  }
  for (const { id, name } of own) {
    if (reaction && name === names[reaction]) continue;
    const one = { route: `DELETE ${route}/{id}`, path: { ...path, id }, schema: shapes.ignoredBody, signal };
    await client.write(one).catch(ifCode("not_found", null));
  }
}
