import { type HttpClient, type SubjectDetails, stringAt, valueAt } from "@signalbox/sdk";
import { anyProject, isKey, projectOfKey } from "./address.ts";
import { type Settings, webUrlOf } from "./settings.ts";
import * as shapes from "./shapes.ts";

/**
 * Whether the payload is missing facts that people see on an issue. Webhooks of comments contain few fields of their issue, or
 * none.
 */
export function isIncomplete(payload: unknown): boolean {
  const fields = valueAt(payload, "issue", "fields");
  const person = stringAt(fields, ["creator", "displayName"]) ?? stringAt(fields, ["reporter", "displayName"]);
  const known = [stringAt(fields, ["summary"]), stringAt(fields, ["status", "name"]), person, linkOf(payload)];
  return known.includes(null) || !Array.isArray(valueAt(fields, "labels"));
}

/** The URL of the issue for people, derived from the URL of its resource, because a server can have a path of its own. */
export function linkOf(payload: unknown): string | null {
  const [self, key] = [stringAt(payload, ["issue", "self"], 2000), valueAt(payload, "issue", "key")];
  const site = self === null ? undefined : /^(https?:\/\/[^\s?#]+?)\/rest\/api\//.exec(self)?.[1];
  return site === undefined || !isKey(key) ? null : `${site}/browse/${key}`;
}

/** Reads an issue by its key, or by its id: the webhooks of Server, and those of work logs, contain only the id. */
export async function describe(
  client: HttpClient,
  connection: Settings,
  issue: string,
  signal: AbortSignal,
): Promise<SubjectDetails> {
  const query = { fields: "summary,status,labels,creator,reporter,project" };
  const request = { route: "GET /issue/{issue}", path: { issue }, query, schema: shapes.issueFields, signal };
  const { key, fields } = (await client.read(request)).data;
  const labels = valueAt(fields, "labels");
  const subject = { project: stringAt(fields, ["project", "key"], 100) ?? projectOfKey(key), issue: key };
  return {
    ...(isKey(key) && subject.project !== anyProject && key !== issue && { subject }),
    title: stringAt(fields, ["summary"]),
    state: stringAt(fields, ["status", "name"], 200),
    labels: Array.isArray(labels) ? labels.filter((label) => typeof label === "string").slice(0, 100) : [],
    author: stringAt(fields, ["creator", "displayName"], 200) ?? stringAt(fields, ["reporter", "displayName"], 200),
    url: `${webUrlOf(connection)}/browse/${key}`,
  };
}
