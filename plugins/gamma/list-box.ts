import type { BlockContent } from "mdast";

/** Removes a checkbox (`[x] ` or `[ ] `) from the start of an item and returns its state; `null` without one. */
export function boxOf(children: BlockContent[]): boolean | null {
  const [first] = children;
  const text = first?.type === "paragraph" ? first.children[0] : undefined;
  const box = text?.type === "text" ? /^\[([ x])\] /.exec(text.value) : null;
  if (!box || text?.type !== "text") return null;
  text.value = text.value.slice(4);
  return box[1] === "x";
}
