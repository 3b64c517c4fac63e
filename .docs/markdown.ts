/** A fenced block: its language, the rest of its first line, its text, and the line where it begins. */
export interface Fence {
  readonly language: string;
  readonly info: string;
  readonly text: string;
  readonly line: number;
}

export interface Link {
  readonly target: string;
  readonly line: number;
}

/** A page taken apart. `prose` is its text with blocks blanked, line by line as in the page. */
export interface Page {
  readonly fences: readonly Fence[];
  readonly prose: string;
  readonly links: readonly Link[];
  /** Ids of its headings, as GitHub and the site make them. */
  readonly anchors: ReadonlySet<string>;
}

/** The id of a heading as GitHub makes it: the site uses the same, so that a link works at both. */
export const slugOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "")
    .replaceAll(" ", "-");

const linkAt = /!?\[(?:[^\]\\`]|\\.|`[^`]*`)*\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g;
const withoutCode = (text: string): string => text.replace(/(`+)[^`].*?\1/g, (code) => " ".repeat(code.length));

export function parsePage(text: string): Page {
  const fences: Fence[] = [];
  const prose: string[] = [];
  let open: { fence: string; indent: number; language: string; info: string; lines: string[]; line: number } | null = null;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^( *)(`{3,}|~{3,})(\w*)(.*)$/.exec(line);
    if (open) {
      if (fence?.[2] === open.fence && !fence[3] && !fence[4]?.trim()) {
        fences.push({ language: open.language, info: open.info, text: open.lines.join("\n"), line: open.line });
        open = null;
      } else open.lines.push(line.slice(Math.min(open.indent, line.length - line.trimStart().length)));
    } else if (fence) {
      const [, indent = "", sign = "", language = "", info = ""] = fence;
      open = { fence: sign, indent: indent.length, language, info: info.trim(), lines: [], line: index + 1 };
    }
    prose.push(open || fence ? "" : line);
  }
  return { fences, prose: prose.join("\n"), links: linksIn(prose), anchors: anchorsIn(prose) };
}

const linksIn = (lines: readonly string[]): Link[] =>
  lines.flatMap((line, index) => [
    // The picture of a linked picture is a link, too.
    ...[...withoutCode(line).matchAll(linkAt)].map(([, target = ""]) => ({ target, line: index + 1 })),
    ...[...line.matchAll(/\b(?:href|src)="([^"]+)"/g)].map(([, target = ""]) => ({ target, line: index + 1 })),
  ]);

function anchorsIn(lines: readonly string[]): Set<string> {
  const found = new Set<string>();
  for (const line of lines) {
    const heading = /^#{1,6} +(.*?)(?: +#+)?$/.exec(line)?.[1];
    for (const [, id = ""] of line.matchAll(/<a (?:id|name)="([^"]+)"/g)) found.add(id);
    if (heading === undefined) continue;
    const slug = slugOf(heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[`*]/g, ""));
    let unique = slug;
    for (let again = 1; found.has(unique); again++) unique = `${slug}-${again}`;
    found.add(unique);
  }
  return found;
}

/** Replaces the targets of links outside of code. */
export function mapLinks(text: string, map: (target: string) => string): string {
  let fence: string | null = null;
  const lines = text.split("\n").map((line) => {
    const sign = /^ *(`{3,}|~{3,})/.exec(line)?.[1];
    if (sign) fence = fence === null ? sign : fence === sign ? null : fence;
    if (sign || fence) return line;
    const plain = withoutCode(line);
    const found = [...plain.matchAll(/\]\(([^()\s]+)((?:\s+"[^"]*")?\))/g)];
    return found.reduceRight((done, { index, 1: target = "" }) => {
      const at = index + 2;
      return done.slice(0, at) + map(target) + done.slice(at + target.length);
    }, line);
  });
  return lines.join("\n");
}
