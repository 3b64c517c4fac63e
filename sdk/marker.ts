import { createHash } from "node:crypto";

const opening = "<!-- signalbox:";
const shape = /^\s*<!-- signalbox:([\w.:-]{1,200}) -->/;

/**
 * Adds the invisible marker with `key` at the start of a Markdown body. An unclosed code fence or HTML comment in a model's
 * answer would hide a marker at the end. Markers that the body already contains are made ineffective.
 */
export function addMarker(body: string, key: string): string {
  return `${opening}${key} -->\n${body.replaceAll("<!-- signalbox:", "<!-- signalbox :")}`;
}

/** The key in the marker at the start of a body; `null` if there is none. A quoted marker is not at the start. */
export function readMarker(body: string | null | undefined): string | null {
  return shape.exec(body ?? "")?.[1] ?? null;
}

/** Whether Signalbox posted the body, that is, whether it starts with a marker. Markers inside a quotation are ignored. */
export const hasMarker = (body: string | null | undefined): boolean => readMarker(body) !== null;

/** The body without the marker at its start. */
export const stripMarker = (body: string): string => body.replace(shape, "").trimStart();

/**
 * A marker for formats without comments, such as rich text: zero-width characters at the start of the text. They encode a
 * signature and a digest of the key, three bits per character.
 */
const signs = ["\u200B", "\u200C", "\u200D", "\u2060", "\u2061", "\u2062", "\u2063", "\u2064"];
const signature = "\u2063\u2060\u2064\u2061";
const digits = 22;
const invisibleShape = new RegExp(`^\\s*${signature}[${signs.join("")}]{${digits}}`);

/** Digest of a key, the same for both kinds of markers: 22 octal digits. */
export function markerDigest(key: string): string {
  // As a text, because a buffer outside of the heap costs many times as much.
  const digest = createHash("sha256").update(key).digest("hex");
  const octal = [0, 6, 12].map((at) => octalOf(digest.slice(at, at + 6))).join("");
  return octal.slice(0, digits);
}

/** Six hexadecimal digits are eight octal ones. */
const octalOf = (hex: string): string => Number.parseInt(hex, 16).toString(8).padStart(8, "0");

/** The marker for `key`, to be added at the start of a text. */
export const invisibleMarker = (key: string): string =>
  signature + [...markerDigest(key)].map((digit) => signs[Number(digit)]).join("");

const maxMarkers = 100;
const visibleAnywhere = /<!-- signalbox:([\w.:-]{1,200}) -->/g;
const invisibleAnywhere = new RegExp(`${signature}([${signs.join("")}]{${digits}})`, "g");
const externalId = /"external_id":"([\w.:-]{1,200})"/g;

/** Digests of the keys in all markers of a payload's JSON, at most 100. Members named `external_id` count as markers. */
export function markersIn(json: string): string[] {
  const digests = new Set<string>();
  const add = (digest: string) => digests.size < maxMarkers && digests.add(digest);
  for (const [, key] of [...json.matchAll(visibleAnywhere), ...json.matchAll(externalId)]) add(markerDigest(key as string));
  for (const [, code] of json.matchAll(invisibleAnywhere)) add([...(code as string)].map((sign) => signs.indexOf(sign)).join(""));
  return [...digests];
}

/** Whether a text starts with the invisible marker for `key`, or for any key if none is given. */
export function hasInvisibleMarker(text: string, key?: string): boolean {
  return key === undefined ? invisibleShape.test(text) : text.trimStart().startsWith(invisibleMarker(key));
}

/** The text without invisible markers. Apply it to the answer of a model, which must not contain one. */
export const stripInvisibleMarker = (text: string): string =>
  text.replaceAll(new RegExp(`${signature}[${signs.join("")}]{0,${digits}}`, "g"), "");
