import { isHiddenElement } from "@signalbox/sdk";
import type { Tag } from "./html-tag.ts";

/** Whether readers do not see an element. */
export const isHidden = ({ name, attributes }: Tag): boolean =>
  isHiddenElement(
    name,
    attributes.map((attribute) => [attribute.name, attribute.value ?? ""]),
  );

/** Attributes that change the visible content or the target of a link. Readers do not see the text of all others. */
const shownElements = new Set(
  "href src width height align valign colspan rowspan start type checked disabled open reversed datetime dir lang".split(" "),
);

/** The tag with only those attributes; `null` if it has no others. */
export function withSafeAttributes({ name, attributes, isClosed }: Tag): string | null {
  if (attributes.length === 0) return null;
  const safeAttributes = attributes.filter((attribute) => shownElements.has(attribute.name));
  if (safeAttributes.length === attributes.length) return null;
  return `<${[name, ...safeAttributes.map(({ raw }) => raw)].join(" ")}${isClosed ? " /" : ""}>`;
}
