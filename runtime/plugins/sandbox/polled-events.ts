import { createHash } from "node:crypto";
import type { UnreadableItem, WebhookPayload } from "@signalbox/sdk";

/** Maximum length of a text, in characters. */
const maxText = 10_000;
/** Maximum number of events that are not valid and have a digest in their name. */
const maxDigests = 100;

/**
 * The valid events of a poll. Each other one becomes an unreadable item, so that it does not stop the others. Checks by hand, because
 * 10,000 schema errors would block the event loop.
 */
export function readablePolled(
  events: readonly unknown[],
  items: readonly unknown[],
): { events: WebhookPayload[]; unreadable: UnreadableItem[] } {
  const unreadable = items.map((item, at) => (isItem(item) ? item : { item: `unreadable: ${at}`, reason: "is not valid" }));
  let digests = 0;
  const readable = events.flatMap((event, at) => {
    const fault = faultOf(event);
    if (fault === null) {
      const { headers, payload } = event as WebhookPayload;
      return [{ headers, payload }];
    }
    const digest = digests++ < maxDigests ? `, SHA-256 ${digestOf(event)}` : "";
    unreadable.push({ item: `events: ${at}${digest}`, reason: fault });
    return [];
  });
  return { events: readable, unreadable };
}

const isText = (value: unknown): value is string => typeof value === "string" && value.length <= maxText;
const isItem = (value: unknown): value is UnreadableItem => isObject(value) && isText(value.item) && isText(value.reason);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What is wrong with an event of a poll; `null`: nothing. */
function faultOf(event: unknown): string | null {
  if (!isObject(event)) return "must be an object";
  const { headers, payload } = event;
  if (!isObject(headers)) return "headers: must be an object";
  const bad = Object.keys(headers).find((name) => !isText(headers[name]));
  if (bad !== undefined) return `headers.${bad}: must be a string of at most ${maxText} characters`;
  return payload === undefined ? "payload: is required" : null;
}

const digestOf = (value: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(value) ?? "")
    .digest("hex")
    .slice(0, 12);
