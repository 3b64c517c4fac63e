import type { BlockContent } from "mdast";

/** `[x] ` at the beginning of an item is a box; it is taken off. */
export function boxOf(children: BlockContent[]): boolean | null {
  const [first] = children;
  const text = first?.type === "paragraph" ? first.children[0] : undefined;
  const box = text?.type === "text" ? /^\[([ x])\] /.exec(text.value) : null;
  if (!box || text?.type !== "text") return null;
  text.value = text.value.slice(4);
  return box[1] === "x";
}
