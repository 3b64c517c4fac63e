import { createHash } from "node:crypto";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import { isUuid, newId } from "./ids.ts";

/** The items that a preview showed and that its confirmation refers to. */
interface ConfirmedPreview {
  readonly count: number;
  /** Items up to this id were counted. Later items are excluded. */
  readonly upTo: string;
  /** Identifies the preview. */
  readonly token: string;
}

/** The value for `confirm` that a preview returns. It is valid for the same request and the same count only. */
export const confirmationOf = (request: unknown, { count, upTo }: Omit<ConfirmedPreview, "token">): string =>
  `${count}.${upTo}.${createHash("sha256")
    .update(JSON.stringify([request, count, upTo]))
    .digest("base64url")
    .slice(0, 22)}`;

/** Reads a `confirm`. Throws `bad_request` if it belongs to another request, so that only what was shown is changed. */
function readConfirmation(request: unknown, token: string): ConfirmedPreview {
  const [count, upTo = ""] = token.split(".");
  const isWhole = /^\d{1,9}$/.test(count ?? "") && isUuid(upTo);
  const preview = { count: Number(count), upTo };
  if (!isWhole || confirmationOf(request, preview) !== token)
    throw fieldProblem("confirm", "belongs to another action or filter; send the request without it for a new preview");
  return { ...preview, token };
}

interface CountRequest {
  /** The request that the confirmation must match: action, filter and everything else that affects the result. */
  readonly request: unknown;
  /** The token of an earlier preview; `undefined` requests a preview. */
  readonly confirm: string | undefined;
  /** Number of items that the caller expects. */
  readonly expect: number | undefined;
  /** Maximum number of items per call. */
  readonly max: number;
  /** What the items are, in the plural. */
  readonly noun: string;
}

/**
 * Counts the items up to an id: a new id for a preview, the id of the preview for its confirmation (`token`, else `null`).
 * Throws if there are too many items, more than the preview showed, or not as many as expected.
 */
export async function countFirst(
  { request, confirm, expect, max, noun }: CountRequest,
  countUpTo: (id: string) => Promise<number>,
) {
  const preview = confirm === undefined ? null : readConfirmation(request, confirm);
  const upTo = preview?.upTo ?? newId();
  const count = await countUpTo(upTo);
  if (count > max) throw fieldProblem("filter", `matches more than ${max} ${noun}; narrow it, for example with from and to`);
  requireCount(count, preview?.count ?? null, expect);
  return { count, upTo, token: preview?.token ?? null };
}

/** Refuses if there are now more items than shown, or a different number than the caller expects. */
function requireCount(count: number, shownCount: number | null, expectedCount: number | undefined): void {
  if (expectedCount !== undefined && count !== expectedCount)
    throw problem("changed_meanwhile", `The filter matches ${count} items, not ${expectedCount}; nothing was changed.`);
  if (shownCount !== null && count > shownCount)
    throw problem(
      "changed_meanwhile",
      `The filter matches ${count} items now; the preview showed ${shownCount}. Nothing was changed; look again.`,
    );
}
