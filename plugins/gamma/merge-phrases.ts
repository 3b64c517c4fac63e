import type { PhrasingContent } from "mdast";

/** Joins adjacent phrases of one kind, from the outside in: `*a**b*` is one emphasis, not two. */
export function mergePhrases(nodes: readonly PhrasingContent[]): PhrasingContent[] {
  const out: PhrasingContent[] = [];
  for (const node of nodes) {
    const last = out.at(-1);
    if (last && joins(last, node)) {
      const both = {
        ...last,
        children: mergePhrases([
          ...(last as { children: PhrasingContent[] }).children,
          ...(node as { children: PhrasingContent[] }).children,
        ]),
      };
      out[out.length - 1] = both as PhrasingContent;
    } else if (last?.type === "text" && node.type === "text")
      out[out.length - 1] = { type: "text", value: last.value + node.value };
    else out.push(node);
  }
  return out;
}

const joins = (a: PhrasingContent, b: PhrasingContent): boolean =>
  a.type === b.type && "children" in a && (a.type !== "link" || (b.type === "link" && a.url === b.url));
