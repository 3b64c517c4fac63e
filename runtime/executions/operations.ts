import * as executions from "@signalbox/schema/executions";
import { namesIn } from "@signalbox/schema/history";
import { problem } from "@signalbox/schema/problem";
import { restart } from "@signalbox/schema/tasks";
import type { Bus } from "../platform/bus.ts";
import type { Queryable, Sql } from "../platform/database/client.ts";
import { isUuid } from "../platform/ids.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { findMeant } from "../subject-names/queries.ts";
import { findTask } from "../tasks/queries.ts";
import { bulkOfExecutions } from "./bulk.ts";
import { decide } from "./proposals/decide.ts";
import { type Decision, listProposals } from "./proposals/queries.ts";
import {
  cancelExecutions,
  findExecution,
  findFailedOfTask,
  hasExecutionsOfTask,
  listAttemptEvents,
  listExecutions,
  listMemories,
  listSteps,
  releaseHeld,
  requeueFailed,
} from "./queries.ts";

const notFound = (id: string) => problem("not_found", `There is no task execution ${id}.`);

async function decideOn(sql: Sql, bus: Bus, id: string, decision: Decision) {
  if (!(await decide(sql, bus, id, decision))) throw notFound(id);
  const execution = await findExecution(sql, id);
  if (!execution) throw notFound(id);
  return { ...execution, proposals: await listProposals(sql, id) };
}

/** Why an execution was not changed: it does not exist, or `rule` excludes its state. */
async function refusal(sql: Queryable, id: string, rule: string) {
  const execution = await findExecution(sql, id);
  return execution ? problem("wrong_state", `The execution has the state ${execution.state}; ${rule}.`) : notFound(id);
}

/** `sources`: names of the sources that a subject may belong to. */
export function executionOperations(bus: Bus, sources: () => Iterable<string>): BoundOperation[] {
  return [
    handle(executions.list, async ({ subject, fields, ...filter }, { sql }) =>
      listExecutions(sql, {
        ...filter,
        subjects: subject === undefined ? undefined : await findMeant(sql, subject, sources()),
        whole: namesIn(fields).includes("result"),
      }),
    ),
    handle(executions.get, async ({ id }, { sql }) => {
      const execution = await findExecution(sql, id);
      if (!execution) throw notFound(id);
      const [memories, history, proposals, transcript] = await Promise.all([
        listMemories(sql, id),
        listAttemptEvents(sql, id),
        listProposals(sql, id),
        listSteps(sql, id),
      ]);
      return { ...execution, memories, history, proposals, transcript };
    }),
    handle(executions.approve, ({ id, proposals = null }, { sql, actor }) =>
      decideOn(sql, bus, id, { verdict: "approve", by: actor.name, proposals, reason: "" }),
    ),
    handle(executions.reject, ({ id, reason }, { sql, actor }) =>
      decideOn(sql, bus, id, { verdict: "reject", by: actor.name, proposals: null, reason }),
    ),
    handle(executions.cancel, async ({ id }, { sql }) => {
      const [cancelled] = await cancelExecutions(sql, { ids: [id] }, null);
      if (!cancelled) throw await refusal(sql, id, "only an execution that has not ended can be cancelled");
      await bus.publish("cancel", id);
      // The subject of the execution is free.
      await bus.publish("queue");
      return cancelled;
    }),
    handle(executions.release, async ({ id }, { sql }) => {
      const [released] = await releaseHeld(sql, { ids: [id] });
      if (!released) throw await refusal(sql, id, "only a held execution can be released");
      await bus.publish("queue");
      return released;
    }),
    bulkOfExecutions(bus, sources),
    handle(restart, async ({ id }, { sql }) => {
      const execution = isUuid(id) ? await findExecution(sql, id) : undefined;
      const failed = execution ? execution.id : await findFailedOfTask(sql, id);
      const [restarted] = failed ? await requeueFailed(sql, { ids: [failed] }) : [];
      if (restarted) {
        await bus.publish("queue");
        return restarted;
      }
      if (execution?.transcript_removed_at)
        throw problem("wrong_state", "The execution's transcript was removed. Replay its event instead.");
      // Its state is read again, because another request may have restarted it.
      if (execution) throw await refusal(sql, execution.id, "only a failed execution can be restarted");
      if ((await findTask(sql, id)) || (await hasExecutionsOfTask(sql, id))) {
        throw problem("wrong_state", `The task "${id}" has no failed execution to restart.`);
      }
      throw problem("not_found", `There is no execution or task "${id}".`);
    }),
  ];
}
