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
const confirmationOf = (request: unknown, { count, upTo }: Omit<ConfirmedPreview, "token">): string =>
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

interface BulkRequest {
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

interface BulkTotals {
  readonly changed: number;
  readonly skipped: number;
  readonly first_error: string | null;
}

interface BulkWork<Selection, Sample> {
  /** Selects the items up to this id. */
  readonly select: (upTo: string) => Selection;
  readonly count: (selection: Selection) => Promise<number>;
  readonly samples: (selection: Selection) => Promise<Sample[]>;
  /** Changes the items. `token`: identifies the confirmed preview. */
  readonly change: (selection: Selection, token: string) => Promise<BulkTotals>;
}

/**
 * Previews a change of many items: those up to a new id. With the confirmation of a preview, changes the items up to the id of the
 * preview. Throws if there are too many items, more than the preview showed, or not as many as expected.
 */
export async function previewOrChange<Selection, Sample>(
  { request, confirm, expect, max, noun }: BulkRequest,
  work: BulkWork<Selection, Sample>,
) {
  const preview = confirm === undefined ? null : readConfirmation(request, confirm);
  const upTo = preview?.upTo ?? newId();
  const selection = work.select(upTo);
  const count = await work.count(selection);
  if (count > max) throw fieldProblem("filter", `matches more than ${max} ${noun}; narrow it, for example with from and to`);
  requireCount(count, preview?.count ?? null, expect);
  const shown = { count, samples: await work.samples(selection) };
  if (preview) return { ...shown, ...(await work.change(selection, preview.token)), confirm: null };
  return { ...shown, changed: 0, skipped: 0, first_error: null, confirm: confirmationOf(request, { count, upTo }) };
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
