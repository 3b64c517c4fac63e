/** Signs that open or close something, in one paragraph and in all. Parsers need time by the square of the first. */
const mostInParagraph = 1500;
const mostInAll = 10_000;
const deep = /^(?:[ \t]{0,3}(?:>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]?){60}/m;

/**
 * Whether Markdown is so entangled that parsing it would hold up the process: nobody writes so, but a model may be made
 * to. What is entangled should be shown as it is, as code.
 */
export function isTangled(markdown: string): boolean {
  if (deep.test(markdown) || signs(markdown) > mostInAll) return true;
  let inParagraph = 0;
  let fence: string | null = null;
  for (const line of markdown.split("\n")) {
    const opens = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence !== null) {
      if (opens?.startsWith(fence)) fence = null;
    } else if (opens !== undefined) fence = opens;
    else inParagraph = line.trim() === "" ? 0 : inParagraph + signs(line);
    if (inParagraph > mostInParagraph) return true;
  }
  return false;
}

const signs = (text: string): number => {
  let count = 0;
  for (let at = 0; at < text.length; at++) if ("*_~[]<`|&\\".includes(text[at] as string)) count += 1;
  return count;
};
