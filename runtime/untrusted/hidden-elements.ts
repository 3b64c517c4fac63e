import { isHiddenElement } from "@signalbox/sdk";
import { type Attribute, type Tag, voidElements } from "./html-tag.ts";

/** Whether readers do not see an element. */
export const isHidden = ({ name, attributes }: Tag): boolean =>
  isHiddenElement(
    name,
    attributes.map((attribute) => [attribute.name, attribute.value ?? ""]),
  );

/** Elements whose tag can be empty. In HTML, all others stay open. */
const xmlElements = new Set(["svg", "math"]);
export const isEmpty = ({ name, isClosed }: Tag): boolean => voidElements.has(name) || (isClosed && xmlElements.has(name));

/** Elements that are shown without their content, which is for browsers that do not know them. */
const shownWithoutContent = new Set(["video", "audio"]);
export const hidesContent = ({ name }: Pick<Tag, "name">): boolean => shownWithoutContent.has(name);

/** Attributes that change the visible content or the target of a link. Readers do not see the text of all others. */
const shownAttributes = new Set(
  "width height align valign colspan rowspan start type checked disabled open reversed datetime dir lang".split(" "),
);
const linking = new Set(["a", "area", "link"]);
const loading = new Set("img video audio source track embed input iframe".split(" "));
/** A value that cannot contain a sentence. */
const plainValue = /^[\w.:%+-]{0,32}$/;

function isShown(element: string, { name, value }: Attribute): boolean {
  if (name === "href") return linking.has(element) && !/\s/.test(value ?? "");
  if (name === "src") return loading.has(element) && !/\s/.test(value ?? "");
  return shownAttributes.has(name) && plainValue.test(value ?? "");
}

/** A longer name is no element of HTML: platforms remove such a tag. */
const maxNameLength = 30;

/** The tag as readers see it: with only those attributes, or nothing; `null` if it stays as it is. */
export function shownTag({ name, isEnd, isClosed, attributes }: Tag): string | null {
  if (name.length > maxNameLength || !/^[a-z][a-z0-9:-]*$/.test(name)) return "";
  if (attributes.length === 0) return null;
  if (isEnd) return `</${name}>`;
  const shown = attributes.filter((attribute) => isShown(name, attribute));
  if (shown.length === attributes.length) return null;
  return `<${[name, ...shown.map(({ raw }) => raw)].join(" ")}${isClosed ? " /" : ""}>`;
}
