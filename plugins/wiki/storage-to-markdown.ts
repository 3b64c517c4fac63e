import { backgroundsOf, isHiddenElement, sanitizeText, showsWhiteText } from "@signalbox/sdk";
import { Parser } from "htmlparser2";
import { type Attributes, isDropped, render, startsBlock } from "./elements.ts";

/** An element that is open. */
interface Frame {
  readonly name: string;
  readonly attributes: Attributes;
  readonly parameters: Map<string, string>;
  /** Readers do not see it. */
  readonly dropped: boolean;
  /** It has a background on which white text can be seen, or is inside of an element with one. */
  onColour: boolean;
  text: string;
}

/** Deepest nesting. Deeper elements are dropped, but their text is kept. */
const maxDepth = 100;
/** Macros with a light background, if no parameter changes it. */
const lightMacros = new Set(["panel", "info", "note", "tip", "warning"]);
const keepsSpace = new Set(["pre", "ac:plain-text-body", "ac:plain-text-link-body"]);

/**
 * The wiki's storage format (XHTML with macros) as Markdown for search: headings, paragraphs, lists, tables, code, links.
 * Never throws, whatever the input is.
 */
export function storageToMarkdown(storage: string): string {
  const stack: Frame[] = [{ name: "", attributes: {}, parameters: new Map(), dropped: false, onColour: false, text: "" }];
  let ignored = 0;
  let dropping = 0;
  let preserved = 0;
  const top = () => stack.at(-1) as Frame;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        if (ignored > 0 || stack.length >= maxDepth) {
          ignored++;
          return;
        }
        const onColour = showsWhiteText(backgrounds(name, attributes)) ?? top().onColour;
        const dropped = isDropped(name) || isHiddenElement(name, Object.entries(attributes), { onColour });
        if (dropped) dropping++;
        if (keepsSpace.has(name)) preserved++;
        stack.push({ name, attributes, parameters: new Map(), dropped, onColour, text: "" });
      },
      ontext: (text) => {
        if (dropping > 0) return;
        const frame = top();
        frame.text += preserved > 0 ? text : escapeHeading(text.replace(/\s+/g, " "), frame.text);
      },
      onclosetag: (name) => {
        if (ignored > 0) {
          ignored--;
          return;
        }
        // The parser also reports the end of an unfinished tag at the end of the input, which it never opened.
        if (stack.length === 1 || top().name !== name) return;
        const frame = stack.pop() as Frame;
        if (keepsSpace.has(frame.name)) preserved--;
        if (frame.dropped) {
          dropping--;
          return;
        }
        close(frame, top());
      },
    },
    { recognizeCDATA: true, recognizeSelfClosing: true, decodeEntities: true },
  );
  parser.end(storage);
  return sanitizeText(tidy(top().text));
}

/** The backgrounds of an element. Only cells show the attribute for it; the colours that have names there are light. */
function backgrounds(name: string, { style = "", "data-highlight-colour": highlight, ...others }: Attributes): readonly string[] {
  if (name === "ac:structured-macro") return lightMacros.has(others["ac:name"] ?? "") ? ["white"] : [];
  const own = backgroundsOf(style);
  if (highlight === undefined || (name !== "td" && name !== "th")) return own;
  return [/^[a-z]+$/i.test(highlight) ? "white" : highlight, ...own];
}

function close(frame: Frame, parent: Frame): void {
  if (frame.name === "ac:parameter") {
    const name = frame.attributes["ac:name"] ?? "";
    parent.parameters.set(name, frame.text.trim());
    // A macro's parameters are in front of its body.
    if (name === "bgColor" && parent.attributes["ac:name"] === "panel")
      parent.onColour = showsWhiteText([frame.text]) ?? parent.onColour;
    return;
  }
  const text = render(frame, parent.name);
  if (text === "") return;
  parent.text += startsBlock(frame.name, frame.attributes) ? `\n\n${text}\n\n` : text;
}

/** Escapes text that would be read as a heading. */
const escapeHeading = (text: string, before: string): string =>
  /^ ?#{1,6}(?: |$)/.test(text) && /(?:^|\n)\s*$/.test(before.slice(-20)) ? text.replace("#", "\\#") : text;

/** Leaves one blank line between blocks and no trailing spaces. Fenced code is not changed. */
function tidy(text: string): string {
  const lines: string[] = [];
  let fence = "";
  for (const line of text.split("\n")) {
    const mark = /^\s*(`{3,})/.exec(line)?.[1] ?? "";
    if (fence === "" && mark !== "") fence = mark;
    else if (fence !== "" && mark.length >= fence.length && line.trim() === mark) fence = "";
    else if (fence === "") {
      const trimmed = line.trimEnd();
      if (trimmed === "" && (lines.at(-1) ?? "") === "") continue;
      lines.push(trimmed);
      continue;
    }
    lines.push(line);
  }
  return lines.join("\n").trim();
}
