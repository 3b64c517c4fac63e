import { z } from "zod";

/** An object that refuses unknown members, and names those that it has. */
export const exactObject = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject(shape, {
    error: ({ code, keys }) =>
      code === "unrecognized_keys"
        ? `has no member ${(keys as string[]).map((key) => JSON.stringify(key)).join(", ")}; its members are ${Object.keys(shape).join(", ")}`
        : undefined,
  });

/** A name with other characters is quoted, so that it cannot be taken for a part of the path. */
const memberName = (name: PropertyKey): string => (/^[\w$-]+$/.test(String(name)) ? String(name) : JSON.stringify(String(name)));

/**
 * The first error of a manifest, as a sentence that starts with the path of the member. `textOf`: other words for an issue than
 * those of zod.
 */
export function manifestError(error: z.ZodError, textOf?: (issue: z.core.$ZodIssue) => string): string {
  const [issue] = error.issues;
  if (!issue) return "the manifest is invalid";
  const path = ["signalbox", ...issue.path.map(memberName)].join(".");
  if (textOf) return `${path}: ${textOf(issue)}`;
  const [, missing] = /^Invalid input: expected (\w+), received undefined$/.exec(issue.message) ?? [];
  if (missing) return `${path}: is required; it must be ${/^[aeiou]/.test(missing) ? "an" : "a"} ${missing}`;
  // For a name in a record, the reason is one level deeper.
  const reason =
    issue.code === "invalid_key" ? `the name is invalid: ${issue.issues[0]?.message ?? issue.message}` : issue.message;
  return `${path}: ${reason}`;
}
