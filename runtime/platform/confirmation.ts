import { createHash } from "node:crypto";
import { problem } from "@signalbox/schema/problem";

/** What a preview showed, and its confirmation names. */
export interface Confirmed {
  readonly count: number;
  /** Items up to this id were counted; those that came later are left out. */
  readonly upTo: string;
  /** Identifies the preview. */
  readonly token: string;
}

/** `confirm` of a preview: it belongs to one request, and to what was counted for it. */
export const confirmationOf = (request: unknown, { count, upTo }: Omit<Confirmed, "token">): string =>
  `${count}.${upTo}.${createHash("sha256")
    .update(JSON.stringify([request, count, upTo]))
    .digest("base64url")
    .slice(0, 22)}`;

/** Reads a `confirm`. Throws `bad_request` for one of another request, so that nothing is changed but what was shown. */
export function readConfirmation(request: unknown, token: string): Confirmed {
  const [count, upTo = ""] = token.split(".");
  const isWhole = /^\d{1,9}$/.test(count ?? "") && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(upTo);
  const given = { count: Number(count), upTo };
  if (!isWhole || confirmationOf(request, given) !== token)
    throw problem("bad_request", "confirm: is not of this action and filter; send the request without it for a new preview", {
      field: "confirm",
    });
  return { ...given, token };
}

/** Refuses where there are more items now than were shown, or another number than the caller expects. */
export function requireCount(count: number, shown: number | null, expected: number | undefined): void {
  if (expected !== undefined && count !== expected)
    throw problem("conflict", `The filter matches ${count} items, not ${expected}; nothing was changed.`);
  if (shown !== null && count > shown)
    throw problem(
      "conflict",
      `The filter matches ${count} items now; the preview showed ${shown}. Nothing was changed; look again.`,
    );
}
