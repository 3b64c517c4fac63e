import type { z } from "zod";

type Issue = z.core.$ZodIssue;

/** The error, and what would be valid. For a union, zod only reports that nothing matches; this function reports what would. */
export function issueText(issue: Issue): string {
  if (issue.code === "invalid_union") return unionText(issue) ?? issue.message;
  return isMissing(issue) ? required([issue.message]) : defaultText(issue);
}

/** A message in the words of the API instead of zod's. Messages of the schemas themselves are kept. */
function defaultText(issue: Issue): string {
  const { message } = issue;
  if (issue.code === "invalid_value" && message.startsWith("Invalid ")) return `must be ${anyOf(issue.values.map(String))}`;
  if (issue.code === "too_big" && message.startsWith("Too big: "))
    return sizeText(issue.inclusive === false ? "less than" : "at most", issue.maximum, issue.origin);
  if (issue.code === "too_small" && message.startsWith("Too small: "))
    return sizeText(issue.inclusive === false ? "more than" : "at least", issue.minimum, issue.origin);
  if (message === "Invalid UUID") return "must be a UUID such as 01a2172f-394d-7000-8f50-d95a74cff9e8";
  if (issue.code === "unrecognized_keys" && message.startsWith("Unrecognized key"))
    return `has no member ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
  return message.replace("expected record", "expected object");
}

const anyOf = (values: readonly string[]): string =>
  values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;

function sizeText(bound: string, size: number | bigint, origin: string): string {
  const units: Record<string, string> = { string: "characters", array: "items", set: "items", map: "items" };
  const unit = units[origin];
  return unit ? `must have ${bound} ${size} ${Number(size) === 1 ? unit.slice(0, -1) : unit}` : `must be ${bound} ${size}`;
}

const typeFault = /^Invalid input: expected (.+), received (\w+)$/;
const isMissing = (issue: Issue) => issue.code === "invalid_type" && typeFault.exec(issue.message)?.[2] === "undefined";
const required = (messages: readonly string[]) => `is required (expected ${expected(messages)})`;
const expected = (messages: readonly string[]) =>
  [...new Set(messages.map((message) => (typeFault.exec(message)?.[1] ?? message).replace(/^record$/, "object")))].join(" or ");

function unionText({ errors }: Extract<Issue, { code: "invalid_union" }>): string | null {
  const firsts = errors.flatMap(([first]) => first ?? []);
  if (firsts.length === 0) return null;
  // The branch with the right type is the intended one.
  const meant = firsts.find((first) => first.code !== "invalid_type" || first.path.length > 0);
  if (meant) return meant.path.length > 0 ? `${meant.path.join(".")}: ${issueText(meant)}` : issueText(meant);
  const messages = firsts.map(({ message }) => message);
  if (firsts.every(isMissing)) return required(messages);
  return `Invalid input: expected ${expected(messages)}, received ${typeFault.exec(messages[0] ?? "")?.[2] ?? "something else"}`;
}
