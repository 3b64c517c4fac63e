import { type EventText, factList, plainLine, sections, stringAt, timestampAt, valueAt } from "@signalbox/sdk";

/** Members of a payload that contain the object of an event, with the platform's name for it. */
const things = [
  ["sprint", "Sprint"],
  ["version", "Version"],
  ["board", "Board"],
  ["project", "Project"],
  ["issueLink", "Link between issues"],
  ["property", "Property"],
  ["user", "User"],
] as const;

/**
 * The text of an event that is not about an issue, a comment, a work log or an attachment; never `""`, so that a run knows
 * what happened. Values of properties are left out, because apps store data there that people do not see.
 */
export function otherText(event: string, payload: unknown): EventText {
  if (event === "") return "";
  const [member, kind] = things.find(([name]) => isObject(valueAt(payload, name))) ?? [null, null];
  const thing = member === null ? null : valueAt(payload, member);
  const name = stringAt(thing, ["name"], 300) ?? stringAt(thing, ["displayName"], 300) ?? stringAt(thing, ["key"], 300);
  const day = (path: string) => timestampAt(thing, path)?.slice(0, 10) ?? null;
  return sections(
    kind === null
      ? `# ${plainLine(event.replace(/^gamma:/, "").replaceAll("_", " "))}`
      : `# ${kind}${name ? `: ${plainLine(name)}` : ""}`,
    factList([
      ["Event", event],
      ["State", stringAt(thing, ["state"], 100)],
      ["Start", day("startDate")],
      ["End", day("endDate") ?? day("releaseDate")],
      ["Link type", stringAt(thing, ["issueLinkType", "name"], 200)],
      ["Goal", stringAt(thing, ["goal"], 2000)],
    ]),
    stringAt(thing, ["description"], 10_000) ?? "",
  );
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value);
