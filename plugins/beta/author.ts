import { type EventAuthor, stringAt, valueAt } from "@signalbox/sdk";

/** Access tokens of projects and groups, and service accounts, are users with names of this form. */
const tokens = /^(?:project|group)_\d+_bot(?:\d*|_[0-9a-z]+)$/i;
const services = /^service_account_(?:group_\d+_)?[0-9a-f]{8,}$/i;
/** Accounts of the server's own features. `support-bot` is not among them: it writes in the name of people who send emails. */
const builtIns = new Set(["alert-bot", "automation-bot", "duo-code-review-bot", "gitlab-bot", "gitlabduo", "security-bot"]);
const unknownAccounts = new Set(["ghost", "support-bot"]);

/**
 * Hooks that name their user next to the payload instead of in `user`. In other hooks, these members name the person that the
 * event is about.
 */
const pushes = new Set(["Push Hook", "Tag Push Hook"]);

export function actorOf(event: string, payload: unknown): string | null {
  const name = stringAt(payload, ["user", "username"], 200);
  return name ?? (pushes.has(event) ? stringAt(payload, ["user_username"], 200) : null);
}

/** Payloads do not contain an author's standing in the project: see `standingOf`. */
export function authorOf(event: string, payload: unknown): EventAuthor | null {
  const name = actorOf(event, payload);
  if (name === null) return null;
  const id = valueAt(payload, "user", "id") ?? (pushes.has(event) ? valueAt(payload, "user_id") : undefined);
  return {
    id: typeof id === "number" && Number.isSafeInteger(id) ? String(id) : null,
    name,
    kind: kindOf(name, stringAt(payload, ["user", "user_type"], 100)),
    standing: "unknown",
  };
}

function kindOf(name: string, type: string | null): EventAuthor["kind"] {
  if (unknownAccounts.has(name.toLowerCase())) return "unknown";
  if (type !== null && type !== "human") return "bot";
  return tokens.test(name) || services.test(name) || builtIns.has(name.toLowerCase()) ? "bot" : "human";
}
