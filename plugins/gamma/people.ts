import { type EventAuthor, stringAt, valueAt } from "@signalbox/sdk";
import { isComment, isIssue } from "./event-name.ts";

/**
 * Who caused an event. Most envelopes contain `user`; those of comments, work logs and attachments name only the people of the
 * object. No envelope of Cloud names the person who deleted a comment. Then it is the last person who changed the comment,
 * which is our account for our own comments.
 */
function causeOf(event: string, payload: unknown): readonly unknown[] {
  const people = (thing: string) => {
    const [author, updated] = [valueAt(payload, thing, "author"), valueAt(payload, thing, "updateAuthor")];
    return event.endsWith("_created") ? [author, updated] : [updated, author];
  };
  const user = valueAt(payload, "user");
  if (isComment(event)) return [user, ...people("comment")];
  if (event.startsWith("worklog_")) return [user, ...people("worklog")];
  if (event.startsWith("attachment_")) return [user, valueAt(payload, "attachment", "author")];
  return event === "gamma:issue_created" ? [user, valueAt(payload, "issue", "fields", "creator")] : [user];
}

/** Cloud identifies an account by its id, Server by its name. Display names are not used: two people may have the same one. */
const idOf = (user: unknown): string | null =>
  stringAt(user, ["accountId"], 200) ?? stringAt(user, ["name"], 200) ?? stringAt(user, ["key"], 200);

/** Comparable with the result of `account`. */
export function actorOf(event: string, payload: unknown): string | null {
  for (const user of causeOf(event, payload)) {
    const id = idOf(user);
    if (id !== null) return id;
  }
  return null;
}

export function authorOf(event: string, payload: unknown): EventAuthor | null {
  const users = causeOf(event, payload);
  const user = users.find((one) => idOf(one) !== null) ?? users.find((one) => stringAt(one, ["displayName"], 200) !== null);
  if (user === undefined) return null;
  const id = idOf(user);
  const isCloud = stringAt(user, ["accountId"], 200) !== null;
  const login = isCloud ? null : stringAt(user, ["name"], 200);
  return {
    id,
    name: login ?? stringAt(user, ["displayName"], 200) ?? id,
    kind: kindOf(user),
    standing: standingOf(event, payload, user),
  };
}

/** Server and older payloads of Cloud do not contain the type of an account; only add-ons are recognised, by their key. */
function kindOf(user: unknown): EventAuthor["kind"] {
  const type = stringAt(user, ["accountType"], 50);
  if (type === "app") return "app";
  if (type === "atlassian" || type === "customer") return "human";
  return stringAt(user, ["key"], 200)?.startsWith("addon_") ? "app" : "unknown";
}

/**
 * Customers of a service project, and people who only wrote an email, are not members of it. Only people who work in the
 * project can write an internal note. Nothing else in a payload shows the standing.
 */
function standingOf(event: string, payload: unknown, user: unknown): EventAuthor["standing"] {
  if (stringAt(user, ["accountType"], 50) === "customer") return "none";
  const comment = valueAt(payload, "comment");
  const wrote = (isComment(event) || isIssue(event)) && idOf(valueAt(comment, "author")) === idOf(user);
  if (!wrote) return "unknown";
  if (valueAt(comment, "jsdAuthorCanSeeRequest") === false) return "none";
  return event === "comment_created" && valueAt(comment, "jsdPublic") === false ? "collaborator" : "unknown";
}
