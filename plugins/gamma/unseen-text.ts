import { isUnseenColour, showsWhiteText, stringAt, valueAt } from "@signalbox/sdk";

const token = /\\.|\{(color|code|noformat|panel)(?::([^}\n]{0,500}))?\}/gis;

interface Panel {
  /** A panel that nothing closes is text, without a background. */
  isClosed: boolean;
  readonly onColour: boolean;
}

/**
 * Wiki markup without the text that readers do not see, because it is white. Code, and panels with a background, are kept.
 * `isCut`: the end of the text is missing, so a colour that is open there applies to the rest.
 */
export function withoutUnseenText(wiki: string, { isCut = false } = {}): string {
  if (!/\{color:/i.test(wiki)) return wiki;
  const lower = wiki.toLowerCase();
  const unclosed = new Set<string>();
  const colours: { readonly from: number; readonly isUnseen: boolean; readonly panel: Panel | undefined }[] = [];
  const ranges: { readonly from: number; readonly to: number; readonly panel: Panel | undefined }[] = [];
  let panel: Panel | undefined;
  token.lastIndex = 0;
  for (let found = token.exec(wiki); found; found = token.exec(wiki)) {
    const name = (found[1] ?? "").toLowerCase();
    const parameters = found[2];
    if (name === "code" || name === "noformat") token.lastIndex = endOfCode(lower, name, token.lastIndex, unclosed);
    else if (name === "panel" && parameters !== undefined) panel = { isClosed: false, onColour: hasBackground(parameters) };
    else if (name === "panel") {
      if (panel) panel.isClosed = true;
      panel = undefined;
    } else if (name === "color" && parameters !== undefined)
      colours.push({ from: found.index, isUnseen: isUnseenColour(parameters), panel });
    else if (name === "color") {
      const colour = colours.pop();
      if (colour?.isUnseen) ranges.push({ ...colour, to: token.lastIndex });
    }
  }
  if (isCut) for (const colour of colours) if (colour.isUnseen) ranges.push({ ...colour, to: wiki.length });
  const unseen = ranges.filter((range) => !(range.panel?.isClosed && range.panel.onColour));
  return without(
    wiki,
    unseen.map(({ from, to }) => [from, to]),
  );
}

function hasBackground(parameters: string): boolean {
  const colours = [...parameters.matchAll(/(?:^|\|)bgcolor=([^|]*)/gi)];
  return showsWhiteText(colours.map(([, colour = ""]) => colour)) ?? false;
}

/** Position after a block of code whose content begins at `from`. */
function endOfCode(lower: string, name: string, from: number, unclosed: Set<string>): number {
  const end = unclosed.has(name) ? -1 : lower.indexOf(`{${name}}`, from);
  if (end < 0) unclosed.add(name);
  return end < 0 ? from : end + name.length + 2;
}

/** A range may contain earlier ones. */
function without(text: string, ranges: readonly [number, number][]): string {
  const kept: string[] = [];
  let at = 0;
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from >= at) kept.push(text.slice(at, from));
    at = Math.max(at, to);
  }
  return kept.join("") + text.slice(at);
}

/** Whether white text can be seen on the background of a document's node; that of what it is in if it has none. */
export function isOnColour(node: unknown, outside: boolean): boolean {
  const type = valueAt(node, "type");
  const background = (name: string) => stringAt(node, ["attrs", name], 50);
  // Panels that are not custom are light.
  if (type === "panel")
    return valueAt(node, "attrs", "panelType") === "custom" && (showsWhiteText([background("panelColor") ?? "white"]) ?? outside);
  if (type !== "tableCell" && type !== "tableHeader") return outside;
  return showsWhiteText([background("background") ?? ""]) ?? outside;
}

/** Whether readers do not see a document's text, because it is white on a background of no other colour. */
export function isUnseenText(node: unknown, onColour: boolean): boolean {
  const marks = valueAt(node, "marks");
  const colours = (type: string) =>
    (Array.isArray(marks) ? marks : [])
      .filter((mark) => valueAt(mark, "type") === type)
      .map((mark) => stringAt(mark, ["attrs", "color"], 50) ?? "");
  return colours("textColor").some(isUnseenColour) && !(showsWhiteText(colours("backgroundColor")) ?? onColour);
}
