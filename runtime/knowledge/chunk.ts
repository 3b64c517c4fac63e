/** A chunk of a page, the unit of search. */
interface PageChunk {
  /** Headings above it, outermost first, without the page's title. */
  readonly heading_path: readonly string[];
  readonly text: string;
}

/** Maximum length of a chunk in characters: about 400 tokens, which every embedding model accepts. */
const maxChunkLength = 1500;
/** Characters that a chunk repeats of the previous one, so text at the boundary is found in one of them. */
const overlap = 200;

/**
 * Splits Markdown into chunks that never span a heading. A section longer than a chunk is split between paragraphs, or if that is
 * impossible, between lines, sentences or words. Each chunk repeats the end of the previous one.
 */
export function chunkMarkdown(markdown: string, { size = maxChunkLength, repeat = overlap } = {}): PageChunk[] {
  return sectionsOf(markdown).flatMap(({ heading_path, text }) =>
    cutText(text, size, repeat).map((piece) => ({ heading_path, text: piece })),
  );
}

/** A longer heading is probably a paragraph that was marked up wrongly; every chunk under it would repeat it. */
const maxHeadingLength = 300;
const heading = /^ {0,3}(#{1,6})(?:[ \t]|$)/;
const fence = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))(.*)$/;

function sectionsOf(markdown: string): PageChunk[] {
  const sections: PageChunk[] = [];
  const path: string[] = [];
  let lines: string[] = [];
  let open: string | null = null;
  const close = () => {
    const text = lines.join("\n").trim();
    // A heading without text adds nothing to the heading path of its subsections.
    if (text !== "") sections.push({ heading_path: path.filter((one) => one !== ""), text });
    lines = [];
  };
  for (const line of markdown.split(/\r?\n/)) {
    const marks = fence.exec(line);
    if (open !== null) {
      if (marks && marks[1]?.[0] === open[0] && (marks[1]?.length ?? 0) >= open.length && marks[2]?.trim() === "") open = null;
    } else if (marks) open = marks[1] as string;
    const match = open === null && !marks && line.length <= maxHeadingLength ? heading.exec(line) : null;
    if (!match) {
      lines.push(line);
      continue;
    }
    close();
    const level = (match[1] as string).length;
    path.length = Math.min(path.length, level - 1);
    while (path.length < level - 1) path.push("");
    path.push(titleOf(line.slice(match[0].length)));
  }
  close();
  return sections;
}

/** Removes the closing marks of a heading. */
function titleOf(text: string): string {
  const title = text.trim();
  let end = title.length;
  while (title[end - 1] === "#") end--;
  return end === 0 || /\s/.test(title[end - 1] as string) ? title.slice(0, end).trim() : title;
}

/** Places to split a text, best first: after a paragraph, a line, a sentence, a word. */
const seams = [/\n\s*\n/g, /\n/g, /[.!?。！？]["')\]]*\s+/g, /\s+/g];

function cutText(text: string, size: number, repeat: number): string[] {
  const pieces: string[] = [];
  let start = 0;
  while (text.length - start > size) {
    const end = seamIn(text, start + Math.floor(size / 2), start + size);
    pieces.push(text.slice(start, end).trim());
    start = wordAfter(text, Math.max(end - repeat, start + 2), end);
  }
  pieces.push(text.slice(start).trim());
  return pieces.filter((piece) => piece !== "");
}

/**
 * The last suitable place to split between two positions; if there is none, the second position, but never within a character.
 */
function seamIn(text: string, from: number, to: number): number {
  const part = text.slice(from, to);
  for (const seam of seams) {
    let last = -1;
    for (const match of part.matchAll(seam)) last = match.index + match[0].length;
    if (last > 0) return from + last;
  }
  return whole(text, to);
}

/** Start of the first word at or after a position, at most `limit`. */
function wordAfter(text: string, from: number, limit: number): number {
  const next = /\s\S/.exec(text.slice(from, limit));
  return next ? from + next.index + 1 : whole(text, from);
}

const whole = (text: string, at: number): number => {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
};
