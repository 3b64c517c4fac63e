import { markerDigest } from "@signalbox/sdk";
import { sha256Of } from "../platform/digest.ts";
import { subjectKey } from "../subject-names/subject-key.ts";

/**
 * Kind of a change at a tracker, as far as the names of tools and events reveal it. `sign`: a reaction, which no event reports.
 */
type ChangeKind = "comment" | "label" | "state" | "create" | "edit" | "sign";

/** A write of ours to a tracker. It is stored before it is sent, and again when the platform has answered. */
export interface OwnWrite {
  readonly step_id: string;
  readonly execution_id: string | null;
  readonly subject: string | null;
  readonly mark: string;
  readonly kind: ChangeKind;
  readonly digests: readonly string[];
}

/** Number of characters of a text that its digest covers. */
const maxText = 100_000;
/** Maximum number of texts of one write or event that are compared. */
const maxTexts = 500;

/** Digest of a text as platforms return it: line ends and surrounding spaces do not count. */
const textDigest = (text: string): string => sha256Of(text.slice(0, maxText).replaceAll("\r\n", "\n").trim()).slice(0, 16);

/** The words in names of tools and events that indicate a kind of change; the first match counts. */
const kinds: readonly [RegExp, ChangeKind][] = [
  [/comment|note|reply|review/, "comment"],
  [/label/, "label"],
  [/transition|clos|reopen|stat(e|us)|merge|assign/, "state"],
  [/creat|open/, "create"],
];

const kindOfTool = (name: string): ChangeKind => kinds.find(([words]) => words.test(name.toLowerCase()))?.[1] ?? "edit";

/** The kinds of change that an event may report. A general update may be any kind except a comment. */
export function kindsOfEvent(eventName: string, action: string | null): ChangeKind[] {
  const kind = kinds.find(([words]) => words.test(`${eventName} ${action ?? ""}`.toLowerCase()))?.[1];
  return kind ? [kind] : ["edit", "label", "state"];
}

/** The write of a tool call or of an answer. `texts`: the written texts. */
export const ownWrite = (
  step: { id: string; key: string | null; name: string | null },
  { execution_id, subject, kind }: Pick<OwnWrite, "execution_id" | "subject" | "kind">,
  texts: readonly string[],
): OwnWrite => ({
  step_id: step.id,
  execution_id,
  subject,
  kind,
  mark: markerDigest(step.key ?? step.id),
  digests: digestsOf(texts),
});

const digestsOf = (texts: readonly string[]): string[] => [
  ...new Set(
    texts
      .filter((text) => text.trim() !== "")
      .slice(0, maxTexts)
      .map(textDigest),
  ),
];

/** Members of a tool's parameters that name the target, not the content. */
const places = new Set(["issue", "project"]);

/** The texts among the parameters of a tool call. */
const textsOf = (parameters: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(parameters).flatMap(([name, value]) =>
    places.has(name) ? [] : [value].flat().filter((one): one is string => typeof one === "string"),
  );

/** The write of a tool call: on the issue that its parameters name, or else on that of the event. */
export function toolWrite(
  step: Parameters<typeof ownWrite>[0],
  tool: { readonly qualifiedName: string; readonly source: { readonly name: string } | null },
  parameters: Readonly<Record<string, unknown>>,
  from: Pick<OwnWrite, "execution_id" | "subject">,
): OwnWrite {
  const { project, issue } = parameters;
  const isNamed = tool.source && typeof project === "string" && (typeof issue === "string" || typeof issue === "number");
  const subject = isNamed ? subjectKey(tool.source.name, { project, issue: String(issue).replace(/^#/, "") }) : from.subject;
  return ownWrite(step, { ...from, subject, kind: kindOfTool(tool.qualifiedName) }, textsOf(parameters));
}

/** Digests of the texts in a payload, with which an event without an actor is compared with our own writes. */
export function digestsIn(payload: unknown): string[] {
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (texts.length >= maxTexts) return;
    if (typeof value === "string") texts.push(value);
    else if (typeof value === "object" && value !== null) for (const member of Object.values(value)) visit(member);
  };
  visit(payload);
  return digestsOf(texts);
}
