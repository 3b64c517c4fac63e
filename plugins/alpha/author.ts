import { type EventAuthor, stringAt, valueAt } from "@signalbox/sdk";

/** What the platform calls a person in a repository. A first contribution does not make its author a contributor. */
const standings: ReadonlyMap<unknown, EventAuthor["standing"]> = new Map([
  ["OWNER", "owner"],
  ["MEMBER", "member"],
  ["COLLABORATOR", "collaborator"],
  ["CONTRIBUTOR", "contributor"],
  ["FIRST_TIMER", "none"],
  ["FIRST_TIME_CONTRIBUTOR", "none"],
  ["MANNEQUIN", "none"],
  ["NONE", "none"],
]);

/** What an `author_association` says; `null` where it says nothing. */
export const standingOf = (association: unknown): EventAuthor["standing"] | null => standings.get(association) ?? null;

/** Members that carry an `author_association`, the most specific first. */
const writtenKinds = ["comment", "review", "discussion", "issue", "pull_request"];

/** Login of the account that caused an event. A polled event has `sender: null` if its actor is unknown. */
export function actorOf(payload: unknown): string | null {
  const sender = stringAt(payload, ["sender", "login"], 200);
  if (sender !== null || valueAt(payload, "sender") === null) return sender;
  // The author of the object. The actor can be someone else, but an incomplete payload names only the author.
  const wrote = writtenKinds.find((name) => valueAt(payload, name) !== undefined);
  return wrote === undefined ? null : stringAt(payload, [wrote, "user", "login"], 200);
}

/** `null` if the payload names no one. */
export function authorOf(payload: unknown): EventAuthor | null {
  const name = actorOf(payload);
  if (name === null) return null;
  const person = valueAt(payload, "sender");
  const id = valueAt(person, "id");
  return {
    id: typeof id === "number" || typeof id === "string" ? String(id).slice(0, 100) || null : null,
    name,
    kind: kindOf(name, valueAt(person, "type")),
    standing: standingIn(payload, name),
  };
}

/** An app's account is a `Bot` named `…[bot]`. */
function kindOf(login: string, type: unknown): EventAuthor["kind"] {
  if (type === "Bot" || /\[bot\]$/i.test(login)) return "bot";
  return type === "User" ? "human" : "unknown";
}

/**
 * An association describes the author of the object that carries it, and says nothing about the people who change that object.
 */
function standingIn(payload: unknown, login: string): EventAuthor["standing"] {
  for (const name of writtenKinds) {
    if (stringAt(payload, [name, "user", "login"], 200) !== login) continue;
    const found = standingOf(valueAt(payload, name, "author_association"));
    if (found) return found;
  }
  return "unknown";
}
