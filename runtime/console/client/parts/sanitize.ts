import DOMPurify from "dompurify";
import { Marked } from "marked";

const tags = [
  "p",
  "br",
  "hr",
  "h1",
  "h2",
  "h3",
  "h4",
  "h5",
  "h6",
  "ul",
  "ol",
  "li",
  "blockquote",
  "pre",
  "code",
  "em",
  "strong",
  "del",
  "a",
  "table",
  "thead",
  "tbody",
  "tr",
  "th",
  "td",
  "details",
  "summary",
  "kbd",
  "sub",
  "sup",
];

const escapeHtml = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

/** Tags that change how a text looks and hide nothing of it, as in the footer of answers. */
const harmlessTag = /^<\/?(?:sub|sup|kbd|br)\s*\/?>$/i;

/** Other HTML in a text is shown as source, including comments, so that no part of the text is hidden. */
const renderer = new Marked({
  gfm: true,
  breaks: true,
  renderer: { html: ({ text }) => (harmlessTag.test(text.trim()) ? text : escapeHtml(text)) },
});

/** Markdown as DOM nodes. Unknown elements are removed, and images become links to their addresses. */
export function fragmentOf(markdown: string): DocumentFragment {
  const html = renderer.parse(markdown, { async: false });
  const fragment = DOMPurify.sanitize(html, {
    ALLOWED_TAGS: [...tags, "img"],
    ALLOWED_ATTR: ["href", "src", "alt", "title", "start", "align"],
    ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
    IN_PLACE: false,
  });
  for (const image of fragment.querySelectorAll("img"))
    image.replaceWith(linkTo(image.getAttribute("src"), image.alt || "picture"));
  for (const link of fragment.querySelectorAll("a")) guard(link);
  for (const one of fragment.querySelectorAll("pre, table")) one.setAttribute("tabindex", "0");
  // The page has its own headings, so those of a text start at a lower level.
  for (const heading of fragment.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const paragraph = document.createElement("p");
    paragraph.className = "heading";
    paragraph.append(...heading.childNodes);
    heading.replaceWith(paragraph);
  }
  return fragment;
}

function linkTo(address: string | null, text: string): Node {
  const link = document.createElement("a");
  link.textContent = `[${text}]`;
  if (address) link.setAttribute("href", address);
  return link;
}

/** Makes a link open in a new tab, send no referrer and show its target. */
function guard(link: HTMLAnchorElement): void {
  const address = link.getAttribute("href") ?? "";
  if (!/^(https?|mailto):/i.test(address)) link.removeAttribute("href");
  else {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
    link.title = address.slice(0, 500);
  }
}
