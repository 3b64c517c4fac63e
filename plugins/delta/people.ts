import { type EventAuthor, stringAt, valueAt } from "@signalbox/sdk";
import { commentIn, idAt, isActivity } from "./names.ts";

/** Who caused an event: the actor of the first envelope; in the second, the last person who changed the object. */
export function actorOf(event: string, payload: unknown): string | null {
  const data = valueAt(payload, "data");
  const named =
    idAt(valueAt(payload, "activity"), "actor", "actor_id") ??
    idAt(payload, "actor", "actor_id") ??
    (isActivity(event) ? idAt(commentIn(payload), "actor", "actor_id") : null) ??
    idAt(data, "actor", "actor_id");
  if (named !== null) return named;
  const about = isActivity(event) ? commentIn(payload) : data;
  if (event.endsWith(".created")) return idAt(about, "created_by", "created_by_id");
  return event.endsWith(".deleted") ? null : idAt(about, "updated_by", "updated_by_id");
}

/** Plane reports neither the kind of an account nor its role: bots are users. */
export function authorOf(event: string, payload: unknown): EventAuthor | null {
  const id = actorOf(event, payload);
  if (id === null) return null;
  const people = [valueAt(payload, "activity", "actor"), valueAt(payload, "actor"), valueAt(payload, "data", "actor_detail")];
  const person = people.find((one) => stringAt(one, ["id"], 100)?.trim() === id || valueAt(one, "id") === undefined);
  const name = stringAt(person, ["display_name"], 200);
  const isBot = people.some((one) => valueAt(one, "is_bot") === true);
  return { id, name, kind: isBot ? "bot" : "unknown", standing: "unknown" };
}
