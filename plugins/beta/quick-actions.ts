/**
 * A line that begins with a slash is a command to the platform (`/close`, `/assign @ann`), carried out in the name of
 * the account: what a model wrote must not give any. Lines in code fences are no commands.
 */
export function withoutQuickActions(markdown: string): string {
  const lines = markdown.split("\n");
  const inCode = fenced(lines);
  return lines
    .map((line, at) => (inCode.has(at) ? line : line.replace(/^([ \t\r\v\f\u00a0]*)\/(?=[A-Za-z_])/, "$1\\/")))
    .join("\n");
}

/** Numbers of the lines inside of fences that are closed; after one that is not, nobody knows what the platform sees. */
function fenced(lines: readonly string[]): Set<number> {
  const inside = new Set<number>();
  for (let at = 0; at < lines.length; at++) {
    const fence = /^(`{3,}|~{3,})[^`]*$/.exec(lines[at] ?? "")?.[1];
    if (!fence) continue;
    const closing = lines.findIndex(
      (line, later) => later > at && line.trimEnd().startsWith(fence) && /^(`+|~+)$/.test(line.trimEnd()),
    );
    if (closing < 0) break;
    for (let line = at + 1; line < closing; line++) inside.add(line);
    at = closing;
  }
  return inside;
}
