import type { z } from "zod";

type Issue = z.core.$ZodIssue;

/** The error, and what would be valid. For a union, zod only reports that nothing matches; this function reports what would. */
export function issueText(issue: Issue): string {
  if (issue.code === "invalid_union") return unionText(issue) ?? issue.message;
  return isMissing(issue) ? required([issue.message]) : issue.message;
}

const typeFault = /^Invalid input: expected (.+), received (\w+)$/;
const isMissing = (issue: Issue) => issue.code === "invalid_type" && typeFault.exec(issue.message)?.[2] === "undefined";
const required = (messages: readonly string[]) => `is required (expected ${expected(messages)})`;
const expected = (messages: readonly string[]) =>
  [...new Set(messages.map((message) => typeFault.exec(message)?.[1] ?? message))].join(" or ");

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
