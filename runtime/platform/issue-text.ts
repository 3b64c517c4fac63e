import type { z } from "zod";

type Issue = z.core.$ZodIssue;

/** The error, and what would be valid. For a union, zod only reports that nothing matches; this function reports what would. */
export function issueText(issue: Issue): string {
  if (issue.code === "invalid_union") return unionText(issue) ?? issue.message;
  if (issue.code === "invalid_key") return nameText(issue);
  if (isMissing(issue)) return required([issue.message]);
  return typeText([issue.message]) ?? defaultText(issue);
}

/** The first error of a value: the path of the invalid member, empty for the value itself, and what would be valid. */
export function firstProblem({ issues }: z.ZodError): { readonly path: string; readonly text: string } {
  const [issue] = issues;
  return { path: issue?.path.join(".") ?? "", text: issue ? issueText(issue) : "is not valid" };
}

/** The error to report. For a number, zod may report two bounds: that of a safe integer, and then the narrower one of the schema. */
export function decisiveIssue(issues: readonly Issue[]): Issue | undefined {
  const [first] = issues;
  if (first?.code !== "too_big" && first?.code !== "too_small") return first;
  const same = issues.filter(({ path, code }) => code === first.code && path.join("\n") === first.path.join("\n"));
  return same.at(-1);
}

/** A message in the API's words instead of zod's. Messages of the schemas themselves are kept. */
function defaultText(issue: Issue): string {
  const { message } = issue;
  if (issue.code === "invalid_value" && message.startsWith("Invalid ")) return `must be ${anyOf(issue.values.map(String))}`;
  if (issue.code === "too_big" && message.startsWith("Too big: "))
    return sizeText(issue.inclusive === false ? "less than" : "at most", issue.maximum, issue.origin);
  if (issue.code === "too_small" && message.startsWith("Too small: "))
    return sizeText(issue.inclusive === false ? "more than" : "at least", issue.minimum, issue.origin);
  const format = issue.code === "invalid_format" && message.startsWith("Invalid ") ? formats[issue.format] : undefined;
  if (format) return `must be ${format}`;
  if (message === "Invalid UUID") return "must be a UUID such as 01a2172f-394d-7000-8f50-d95a74cff9e8";
  if (issue.code === "unrecognized_keys" && message.startsWith("Unrecognized key"))
    return `has no member ${issue.keys.map((key) => JSON.stringify(key)).join(", ")}`;
  return message;
}

const formats: Readonly<Record<string, string>> = {
  datetime: "a time in ISO 8601 with a zone, for example 2026-01-31T09:30:00Z",
  url: "a URL",
  email: "an email address",
};

/** A name in an object with free names, such as `parameters`. */
function nameText({ issues }: Extract<Issue, { code: "invalid_key" }>): string {
  const [first] = issues;
  return first ? `the name of this member ${issueText(first)}` : "has an invalid name";
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
const required = (messages: readonly string[]) => {
  const expected = typesIn(messages);
  return expected === null ? "is required" : `is required; it must be ${expected}`;
};

const types: Readonly<Record<string, string>> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "an array",
  object: "an object",
  record: "an object",
  null: "null",
};

/**
 * What the value must be. It does not name the type that was received: in a path, a query or a command, all values are strings.
 */
function typeText(messages: readonly string[]): string | null {
  const expected = typesIn(messages);
  const received = typeFault.exec(messages[0] ?? "")?.[2];
  return expected === null ? null : `must be ${expected}${received === "null" ? "; it is null" : ""}`;
}

/** The types that zod's messages name, in the API's words; `null` if one has no such word. */
function typesIn(messages: readonly string[]): string | null {
  const found = messages.map((message) => types[typeFault.exec(message)?.[1] ?? ""]);
  return found.length === 0 || found.includes(undefined) ? null : [...new Set(found)].join(" or ");
}

type UnionIssue = Extract<Issue, { code: "invalid_union" }>;

/** `options`: the values of a discriminator. Zod's types do not declare it. */
function unionText({ errors, options }: UnionIssue & { readonly options?: readonly unknown[] }): string | null {
  if (options) return `must be ${anyOf(options.map(String))}`;
  const firsts = errors.flatMap(([first]) => first ?? []);
  if (firsts.length === 0) return null;
  // The branch with the right type is the intended one.
  const meant = firsts.find((first) => first.code !== "invalid_type" || first.path.length > 0);
  if (meant) return meant.path.length > 0 ? `${meant.path.join(".")}: ${issueText(meant)}` : issueText(meant);
  const messages = firsts.map(({ message }) => message);
  return firsts.every(isMissing) ? required(messages) : typeText(messages);
}
