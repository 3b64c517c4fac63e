import type { Tag } from "./html-tag.ts";

/** Elements whose content no page shows. */
const hiddenElements = new Set(
  "script style template noscript iframe object applet svg math head title datalist noembed noframes".split(" "),
);
/** Styles, without spaces, that hide an element. */
const unseenStyle =
  /(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0?\.?0*(?![.\d])|font-size:0|font:0|(?:max-)?(?:height|width):0(?![.\d]*[1-9])|color:(?:transparent|white|#fff\b|#ffffff|rgba?\(255,255,255)|text-indent:-\d{3}|(?:left|top|right|bottom):-\d{3}|clip:rect\(0|clip-path:inset\((?:50|100)%|transform:scale\(0\))/;

/** Whether readers do not see an element. */
export function isHidden({ name, attributes }: Tag): boolean {
  if (hiddenElements.has(name)) return true;
  if (attributes.length === 0) return false;
  return attributes.some((attribute) => {
    const value = (attribute.value ?? "").toLowerCase();
    if (attribute.name === "hidden") return true;
    if (attribute.name === "type") return name === "input" && value === "hidden";
    if (attribute.name === "color") return name === "font" && /^(?:white|#fff(?:fff)?|transparent)$/.test(value.trim());
    return attribute.name === "style" && unseenStyle.test(value.replace(/\/\*[\s\S]{0,200}?\*\/|\s|\\/g, ""));
  });
}

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
