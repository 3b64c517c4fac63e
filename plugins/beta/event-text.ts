import { stringAt, stripMarker, valueAt } from "@signalbox/sdk";

/** The dispatcher passes on no more than this. Characters. */
const longest = 262_144;

/** The text for the agent: Markdown with a heading per part; `""` for events without text. */
export function eventText(event: string, payload: unknown): string {
  const item = valueAt(payload, "object_attributes");
  if (/^(Confidential )?Issue Hook$/.test(event)) return itemText("Issue", "#", item, payload);
  if (event === "Merge Request Hook") return itemText("Merge request", "!", item, payload);
  if (/^(Confidential )?Note Hook$/.test(event)) return noteText(payload);
  return "";
}

function itemText(kind: string, sign: string, item: unknown, payload: unknown): string {
  const changes = changesOf(payload);
  return sections(
    heading(kind, sign, item),
    facts(item, payload),
    changes && `## Changes\n\n${changes}`,
    body(item, "description"),
  );
}

function noteText(payload: unknown): string {
  const [kind, sign, item] = valueAt(payload, "merge_request")
    ? ["Merge request", "!", valueAt(payload, "merge_request")]
    : ["Issue", "#", valueAt(payload, "issue")];
  const author = stringAt(payload, ["user", "username"], 200);
  const description = body(item, "description");
  return sections(
    heading(String(kind), String(sign), item),
    list([["State", stringAt(item, ["state"], 100)]]),
    `## Comment${author ? ` by ${author}` : ""}`,
    body(valueAt(payload, "object_attributes"), "note"),
    description && `## Description\n\n${description}`,
  );
}

function heading(kind: string, sign: string, item: unknown): string {
  const number = valueAt(item, "iid");
  const title = stringAt(item, ["title"])?.replace(/\s+/g, " ");
  return `# ${kind}${typeof number === "number" ? ` ${sign}${number}` : ""}${title ? `: ${title}` : ""}`;
}

const facts = (item: unknown, payload: unknown): string =>
  list([
    ["State", stringAt(item, ["state"], 100)],
    ["By", stringAt(payload, ["user", "username"], 200)],
    ["Labels", labels(valueAt(payload, "labels")) || null],
    ["From", stringAt(item, ["source_branch"], 500)],
    ["Into", stringAt(item, ["target_branch"], 500)],
  ]);

const labels = (list: unknown): string =>
  Array.isArray(list)
    ? list
        .slice(0, 100)
        .flatMap((label) => stringAt(label, ["title"], 100) ?? [])
        .join(", ")
    : "";

/** Changes contain states as numbers. */
const states: ReadonlyMap<unknown, string> = new Map([
  [1, "opened"],
  [2, "closed"],
  [3, "merged"],
  [4, "locked"],
]);
const silent = new Set([
  "updated_at",
  "updated_by_id",
  "description",
  "last_edited_at",
  "last_edited_by_id",
  "relative_position",
]);

/** The members that an update changed, with their old and new values. */
function changesOf(payload: unknown): string {
  const changes = valueAt(payload, "changes");
  if (typeof changes !== "object" || changes === null) return "";
  const shown = Object.keys(changes).filter((name) => !silent.has(name) && /^\w{1,50}$/.test(name));
  return shown
    .slice(0, 20)
    .flatMap((name) => {
      const [from, to] = ["previous", "current"].map((side) => shownValue(name, valueAt(changes, name, side)));
      return from === to ? [] : `- ${name === "state_id" ? "state" : name.replace(/_id$/, "")}: ${from} → ${to}`;
    })
    .join("\n");
}

function shownValue(name: string, value: unknown): string {
  if (name === "state_id") return states.get(value) ?? "none";
  if (Array.isArray(value)) {
    const names = value.slice(0, 50).flatMap((one) => stringAt(one, ["title"], 100) ?? stringAt(one, ["username"], 100) ?? []);
    return names.join(", ") || "none";
  }
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return stringAt({ value }, ["value"], 500)?.replace(/\s+/g, " ") ?? "none";
}

const list = (entries: readonly (readonly [string, string | null])[]): string =>
  entries.flatMap(([name, value]) => (value === null ? [] : `- ${name}: ${value}`)).join("\n");

const body = (of: unknown, name: string): string => stripMarker(stringAt(of, [name], longest) ?? "");

const sections = (...parts: readonly string[]): string => parts.filter((part) => part !== "").join("\n\n");
