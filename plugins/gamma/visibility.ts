import { stringAt, valueAt } from "@signalbox/sdk";
import { z } from "zod";

/** Comment property of a service project: `{internal: true}` hides a comment from its customers. */
export const internalProperty = { key: "sd.public.comment", value: { internal: true } };

/** Group or role that alone can read a comment. A group is identified by its id where there is one: names change. */
const restriction = z.object({
  type: z.enum(["group", "role"]),
  value: z.string().max(255).nullish(),
  identifier: z.string().max(255).nullish(),
});

/** Whether some people who can see the project cannot see the subject of the event. */
export const isPrivate = (payload: unknown): boolean =>
  isInternal(valueAt(payload, "comment")) || restrictionOf(payload) !== null || isSecured(valueAt(payload, "issue", "fields"));

/** Whether only some of the people who can see the issue can read a comment, as the platform's API and webhooks show it. */
export const isHidden = (comment: unknown): boolean => isInternal(comment) || isSet(valueAt(comment, "visibility"));

/** Whether an issue has a security level. */
export const isSecured = (fields: unknown): boolean => isSet(valueAt(fields, "security"));

function isInternal(comment: unknown): boolean {
  if (valueAt(comment, "jsdPublic") === false) return true;
  const properties = valueAt(comment, "properties");
  return (
    Array.isArray(properties) &&
    properties.slice(0, 100).some((one) => {
      const internal = valueAt(one, "key") === internalProperty.key ? valueAt(one, "value", "internal") : null;
      return internal === true || internal === "true";
    })
  );
}

/** A security level is `null` where an issue has none. */
const isSet = (value: unknown): boolean =>
  typeof value === "string" ? value !== "" : typeof value === "object" && value !== null && Object.keys(value).length > 0;

/** The people who can read the comment or work log, for its answer: the `thread` of the event. */
export function restrictionOf(payload: unknown): string | null {
  const found = [valueAt(payload, "comment", "visibility"), valueAt(payload, "worklog", "visibility")].find(isSet);
  if (found === undefined) return null;
  const type = stringAt(found, ["type"], 20);
  const [value, identifier] = [stringAt(found, ["value"], 200), stringAt(found, ["identifier"], 200)];
  return JSON.stringify({ type, ...(type === "group" && identifier !== null ? { identifier } : { value }) });
}

/** `visibility` of an answer. `undefined`: the restriction could not be read, so nothing may be posted. */
export function visibilityOf(thread: string): z.output<typeof restriction> | undefined {
  try {
    const read = restriction.safeParse(JSON.parse(thread));
    return read.success && (read.data.value || read.data.identifier) ? read.data : undefined;
  } catch {
    return undefined;
  }
}
