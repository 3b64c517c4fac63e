/**
 * Text as Markdown that shows it unchanged: a note and a code block. For texts whose formatting could not be converted; nothing in
 * the text can end the block.
 */
export function plainMarkdown(text: string): string {
  if (text.trim() === "") return "";
  let [longest, run] = [2, 0];
  for (let at = 0; at < text.length; at++) {
    run = text[at] === "`" ? run + 1 : 0;
    if (run > longest) longest = run;
  }
  const fence = "`".repeat(longest + 1);
  return `${plainNote}\n\n${fence}text\n${text}\n${fence}`;
}

/** The note in front of a text that is shown without its formatting. */
export const plainNote = "Shown as plain text, because its formatting could not be converted.";

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

const block = /<\/?(?:p|div|br|li|tr|h[1-6]|pre|table|ul|ol|blockquote)\b/iy;

/** The text of HTML or XML without its tags, in linear time. Block elements and line breaks become line breaks. */
export function textOfMarkup(markup: string): string {
  let text = "";
  let from = 0;
  for (;;) {
    const open = markup.indexOf("<", from);
    if (open < 0) break;
    text += markup.slice(from, open);
    from = open;
    if (markup.startsWith("<![CDATA[", open)) {
      const end = markup.indexOf("]]>", open);
      text += markup.slice(open + 9, end < 0 ? markup.length : end);
      from = end < 0 ? markup.length : end + 3;
      continue;
    }
    const close = markup.indexOf(">", open + 1);
    if (close < 0) break;
    block.lastIndex = open;
    if (block.test(markup)) text += "\n";
    from = close + 1;
  }
  return (text + markup.slice(from))
    .replace(/&(amp|lt|gt|quot|apos|nbsp);/g, (_, name: string) => entities[name] as string)
    .replace(/\n{3,}/g, "\n\n")
    .trim();
}
