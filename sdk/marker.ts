const opening = "<!-- signalbox:";
const shape = /^\s*<!-- signalbox:([\w.:-]{1,200}) -->/;

/**
 * Puts the invisible marker in front of a Markdown body. In front, because an unclosed code fence or HTML comment in
 * what a model wrote would swallow a marker behind it. Markers inside the body are taken apart first: only ours counts.
 */
export function addMarker(body: string, key: string): string {
  return `${opening}${key} -->\n${body.replaceAll("<!-- signalbox:", "<!-- signalbox :")}`;
}

/** The key in the marker that a body begins with; `null` without one. A quoted marker does not begin the body. */
export function readMarker(body: string | null | undefined): string | null {
  return shape.exec(body ?? "")?.[1] ?? null;
}

/** Whether a body was posted by Signalbox itself. People may quote an agent: a marker inside a quotation does not count. */
export const hasMarker = (body: string | null | undefined): boolean => readMarker(body) !== null;

/** A body as its reader sees it, without our marker. */
export const stripMarker = (body: string): string => body.replace(shape, "").trimStart();
