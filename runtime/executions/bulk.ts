import { executions } from "@signalbox/schema/bulk";
import type { Input, Output } from "@signalbox/schema/operation";
import { Problem } from "@signalbox/schema/problem";
import { recordDecision } from "../audit/record-decision.ts";
import type { Bus } from "../platform/bus.ts";
import { previewOrChange } from "../platform/confirmation.ts";
import type { Sql } from "../platform/database/client.ts";
import { type BoundOperation, type Context, handle } from "../platform/operation.ts";
import { findMeant } from "../subject-names/queries.ts";
import { type BulkSelection, countSelected, nextSelected, sampleSelected } from "./bulk-queries.ts";
import { decide } from "./proposals/decide.ts";
import { cancelExecutions, releaseHeld, requeueFailed } from "./queries.ts";

type Request = Input<typeof executions>;
type Answer = Output<typeof executions>;

/** Maximum number of executions that one call changes, and that one statement changes. */
const max = 20_000;
const portion = 200;
const samples = 10;
const firstId = "00000000-0000-0000-0000-000000000000";

/**
 * Changes the executions that match a filter. The first call returns their number and examples; after confirmation, they are
 * changed in portions.
 */
export const bulkOfExecutions = (bus: Bus, sources: () => Iterable<string>): BoundOperation =>
  handle(executions, async (request, context) => {
    const { action, filter, reason, expect, confirm } = request;
    const { sql } = context;
    const { subject, ...rest } = filter;
    const subjects = subject === undefined ? undefined : await findMeant(sql, subject, sources());
    const outcome = await previewOrChange(
      { request: { action, filter, reason }, confirm, expect, max, noun: "executions" },
      {
        select: (upTo): BulkSelection => ({ action, filter: { ...rest, subjects }, upTo }),
        count: (selection) => countSelected(sql, selection, max),
        samples: (selection) => sampleSelected(sql, selection, samples),
        change: (selection) => changeAll(selection, request, bus, context),
      },
    );
    return { action, filter, ...outcome };
  });

type ChangeTotals = Pick<Answer, "changed" | "skipped" | "first_error">;

async function changeAll(selection: BulkSelection, request: Request, bus: Bus, context: Context): Promise<ChangeTotals> {
  const totals = { changed: 0, skipped: 0, first_error: null as string | null };
  for (let afterId = firstId; ; ) {
    context.signal.throwIfAborted();
    const ids = await nextSelected(context.sql, selection, afterId, portion);
    const last = ids.at(-1);
    if (last === undefined) return totals;
    const { changed, error } = await changeSome(ids, request, bus, context);
    totals.changed += changed;
    totals.skipped += ids.length - changed;
    totals.first_error ??= error;
    afterId = last;
  }
}

async function changeSome(
  ids: readonly string[],
  { action, reason }: Request,
  bus: Bus,
  { sql, actor }: Context,
): Promise<{ changed: number; error: string | null }> {
  if (action === "approve" || action === "reject") return decideAll(ids, { verdict: action, by: actor.name, reason }, bus, sql);
  const change = { restart: requeueFailed, release: releaseHeld, cancel: cancelAll }[action];
  const changed = await change(sql, { ids });
  if (action === "cancel") for (const { id } of changed) await bus.publish("cancel", id);
  await bus.publish("queue");
  return { changed: changed.length, error: null };
}

const cancelAll = (sql: Sql, of: { readonly ids: readonly string[] }) => cancelExecutions(sql, of, null);

/** Each decision has its own entry in the audit log. */
async function decideAll(
  ids: readonly string[],
  decision: { readonly verdict: "approve" | "reject"; readonly by: string; readonly reason: string },
  bus: Bus,
  sql: Sql,
): Promise<{ changed: number; error: string | null }> {
  const { verdict, by, reason } = decision;
  let [changed, error]: [number, string | null] = [0, null];
  for (const id of ids) {
    try {
      if (!(await decide(sql, bus, id, { ...decision, proposals: null }))) continue;
      await recordDecision(sql, { actor: by, operation: `task-executions.${verdict}`, executionId: id, reason });
      changed++;
    } catch (failure) {
      if (!(failure instanceof Problem)) throw failure;
      error ??= failure.message;
    }
  }
  return { changed, error };
}
