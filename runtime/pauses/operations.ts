import type { Input } from "@signalbox/schema/operation";
import * as pauses from "@signalbox/schema/pauses";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import type { Queryable } from "../platform/database/client.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { deletePause, existsFor, insertPause, listPauses, pausableIds } from "./queries.ts";

/** The claim reads the pauses itself, so a pause applies on every replica from its next claim on. */
export function pauseOperations(bus: Bus, sources: () => Iterable<string>): BoundOperation[] {
  return [
    handle(pauses.list, (page, { sql }) => listPauses(sql, page)),
    handle(pauses.create, async (input, { sql, actor }) => {
      const id = idOf(input);
      await requireTarget(sql, input.scope, id, sources);
      return insertPause(sql, { scope: input.scope, id, reason: input.reason, paused_by: actor.name });
    }),
    handle(pauses.remove, async (input, { sql }) => {
      const id = idOf(input);
      const ended = await deletePause(sql, input.scope, id);
      if (!ended) throw problem("not_found", await notPaused(sql, input.scope, id));
      await bus.publish("queue");
      return ended;
    }),
  ];
}

async function notPaused(sql: Queryable, scope: string, id: string | null): Promise<string> {
  const { items } = await listPauses(sql, { limit: 5, offset: 0 });
  if (items.length === 0) return "Nothing is paused.";
  const paused = items.map((one) => (one.id === null ? "everything" : `${one.scope} "${one.id}"`)).join(", ");
  return id === null
    ? `Not everything is paused, only: ${paused}.`
    : `The ${scope} "${id}" is not paused. Paused now: ${paused}.`;
}

function idOf({ scope, id }: Input<typeof pauses.remove>): string | null {
  if (scope === "all") {
    if (id !== undefined) throw fieldProblem("id", "must not be sent with the scope all");
    return null;
  }
  if (id === undefined) throw fieldProblem("id", `is required with the scope ${scope}`);
  return String(id);
}

/** Otherwise, a pause of an object that does not exist would silently have no effect. */
async function requireTarget(
  sql: Queryable,
  scope: Input<typeof pauses.remove>["scope"],
  id: string | null,
  sources: () => Iterable<string>,
): Promise<void> {
  if (scope === "all" || id === null) return;
  if (scope === "source") {
    const names = [...sources()];
    if (!names.includes(id)) throw fieldProblem("id", `there is no source ${JSON.stringify(id)}; available: ${names.join(", ")}`);
  } else if (!(await existsFor(sql, scope, id))) {
    const ids = await pausableIds(sql, scope, id);
    const available = ids.length === 0 ? `there are no ${scope}s` : `available: ${ids.join(", ")}`;
    throw fieldProblem("id", `there is no ${scope} ${JSON.stringify(id)}; ${available}`);
  }
}
