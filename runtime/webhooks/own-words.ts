/** A pair of marks around code or a quotation, in HTML and in Jira's wiki markup. */
const marks = /<(\/?)(code|pre|samp|kbd|tt|blockquote)\b[^<>]*>|\{(code|noformat|quote)(:[^{}\n]*)?\}/gi;
const fenceStart = /^\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)*(`{3,}(?=[^`]*$)|~{3,})/;
/** Also Jira's `bq.`, and a quotation in a list. */
const quotedLine = /^\s*(?:(?:[-*+]|\d{1,9}[.)])\s+)*(?:>|bq\. )/;
const listItem = /^\s*(?:[-*+]|\d{1,9}[.)])\s/;
/** GitLab's quotation over several lines. */
const quotedLines = /^>>>[ \t]*\r?\n[\s\S]*?\n>>>[ \t]*\r?$/gm;

/**
 * A text without its code and its quotations: what its author says to its readers. Platforms notify no one who is named in code,
 * and a quotation repeats what was said before. Expects a text without hidden markup. Takes linear time.
 */
export function ownWords(text: string): string {
  if (!/[`~>{]|^(?: {4}|\t|\s*bq\. )/m.test(text)) return text;
  return withoutSpans(withoutCodeLines(withoutMarked(text.replace(quotedLines, ""))));
}

interface Open {
  readonly name: string;
  readonly from: number;
  depth: number;
}

function withoutMarked(text: string): string {
  const lower = text.toLowerCase();
  const lastEnds = new Map<string, number>();
  const lastEndOf = (name: string, end: string) => {
    const known = lastEnds.get(name) ?? lower.lastIndexOf(end);
    lastEnds.set(name, known);
    return known;
  };
  let open: Open | null = null;
  let rest = "";
  let copied = 0;
  for (const { index, 0: mark, 1: slash, 2: element, 3: macro, 4: parameters } of text.matchAll(marks)) {
    const name = (element ?? macro ?? "").toLowerCase();
    if (open === null) {
      const isEnded = lastEndOf(name, element ? `</${name}` : `{${name}}`) > index;
      if (!slash && isEnded) open = { name, from: index, depth: 1 };
    } else if (open.name === name) {
      if (element) open.depth += slash ? -1 : 1;
      else if (parameters === undefined) open.depth = 0;
      if (open.depth > 0) continue;
      rest += `${text.slice(copied, open.from)} `;
      copied = index + mark.length;
      open = null;
    }
  }
  return rest + text.slice(copied);
}

/** A fence that is not closed contains the rest of the text, as on the platforms. */
function withoutCodeLines(text: string): string {
  const kept: string[] = [];
  let fence: string | null = null;
  let isList = false;
  let mayIndent = true;
  for (const line of text.split("\n")) {
    const isBlank = line.trim() === "";
    if (fence !== null) {
      if (isEndOf(fence, line)) fence = null;
    } else if (quotedLine.test(line)) kept.push("");
    else {
      fence = fenceStart.exec(line)?.[1] ?? null;
      isList = listItem.test(line) || (isList && (isBlank || /^\s/.test(line)));
      const isIndented: boolean = !isList && mayIndent && /^(?: {4}|\t)/.test(line);
      kept.push(fence !== null || isIndented ? "" : line);
      mayIndent = isBlank || isIndented;
    }
  }
  return kept.join("\n");
}

function isEndOf(fence: string, line: string): boolean {
  const mark = line.replace(/^[\s>]+/, "").trimEnd();
  return mark.length >= fence.length && mark === fence.charAt(0).repeat(mark.length);
}

/** Code spans end in the paragraph in which they begin; so does Jira's `{{code}}` in its line. */
function withoutSpans(text: string): string {
  const paragraphs = text.replace(/\{\{[^{}\n]*\}\}/g, " ").split(/\n[ \t\r]*\n/);
  return paragraphs.map((paragraph) => (paragraph.includes("`") ? withoutSpansOf(paragraph) : paragraph)).join("\n\n");
}

function withoutSpansOf(paragraph: string): string {
  const runs = [...paragraph.matchAll(/`+/g)].map(({ index, 0: run }) => ({ at: index, length: run.length }));
  /** For each length, the places of its runs in `runs`, the last one first. */
  const places = new Map<number, number[]>();
  for (let n = runs.length - 1; n >= 0; n--) {
    const length = runs[n]?.length ?? 0;
    const same = places.get(length);
    if (same) same.push(n);
    else places.set(length, [n]);
  }
  let rest = "";
  let copied = 0;
  for (let n = 0; n < runs.length; n++) {
    const { at, length } = runs[n] as (typeof runs)[number];
    const same = places.get(length) ?? [];
    while ((same.at(-1) ?? Number.POSITIVE_INFINITY) <= n) same.pop();
    const end = same.at(-1);
    if (end === undefined || (length === 1 && paragraph[at - 1] === "\\")) continue;
    rest += `${paragraph.slice(copied, at)} `;
    copied = (runs[end]?.at ?? 0) + length;
    n = end;
  }
  return rest + paragraph.slice(copied);
}
