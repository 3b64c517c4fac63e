import { sources } from "@signalbox/schema/common";
import * as mappings from "@signalbox/schema/mappings";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import type { Bus } from "../platform/bus.ts";
import type { EventNames } from "../platform/event-names.ts";
import { type BoundOperation, handle } from "../platform/operation.ts";
import { findTask } from "../tasks/queries.ts";
import { hasMappingOfSource, hasPathOfSource } from "../webhook-mappings/queries.ts";
import { defaultSourceMappings, defaultTriggerMappings, optionalSourceMappings, optionalTriggerMappings } from "./defaults.ts";
import { countHits } from "./hit-queries.ts";
import * as queries from "./queries.ts";

/**
 * The operations on both kinds of mappings. Every change is published before the request is answered, so the next webhook uses
 * it.
 */
export function mappingOperations(bus: Bus, loadedSources: () => Iterable<string>, names: EventNames): BoundOperation[] {
  const publishChange = () => bus.publish("mappings");
  return [
    handle(mappings.listTriggers, (page, { sql }) => queries.listTriggerMappings(sql, page)),
    handle(mappings.createTrigger, async (input, { sql }) => {
      if (!(await findTask(sql, input.task_id))) throw fieldProblem("task_id", `there is no task "${input.task_id}"`);
      const row = await queries.insertTriggerMapping(sql, input);
      if (!row) throw problem("already_exists", `${input.canonical_trigger} is already mapped to the task "${input.task_id}".`);
      await publishChange();
      return row;
    }),
    handle(mappings.removeTrigger, async ({ id }, { sql }) => {
      if (!(await queries.deleteTriggerMapping(sql, id))) throw problem("not_found", `There is no trigger-task mapping ${id}.`);
      await publishChange();
      return {};
    }),
    handle(mappings.seedTriggers, async ({ include }, { sql }) => {
      const wanted = [...defaultTriggerMappings, ...[...new Set(include)].flatMap((set) => optionalTriggerMappings[set])];
      const rows = await inOrder(wanted, (row) => queries.insertTriggerMapping(sql, row));
      await publishChange();
      return tally(rows);
    }),
    handle(mappings.hits, (_, { sql }) => countHits(sql)),
    handle(mappings.listSources, (page, { sql }) => queries.listSourceMappings(sql, page)),
    handle(mappings.createSource, async (input, { sql }) => {
      const known = new Set<string>([...sources, ...loadedSources()]);
      if (!known.has(input.source) && !(await hasMappingOfSource(sql, input.source))) throw unknownSource(input.source, known);
      // A webhook mapping with a path names its events itself.
      if (!(await hasPathOfSource(sql, input.source))) await names.check(input.source, input.event_name, "event_name");
      const row = await queries.insertSourceMapping(sql, input);
      if (!row)
        throw problem(
          "already_exists",
          `${input.source}: ${input.event_name} with ${input.action ?? "any action"} is already mapped.`,
        );
      await publishChange();
      return row;
    }),
    handle(mappings.removeSource, async ({ id }, { sql }) => {
      if (!(await queries.deleteSourceMapping(sql, id))) throw problem("not_found", `There is no source event mapping ${id}.`);
      await publishChange();
      return {};
    }),
    handle(mappings.seedSources, async ({ include }, { sql }) => {
      const wanted = [...defaultSourceMappings, ...[...new Set(include)].flatMap((set) => optionalSourceMappings[set])];
      const rows = await inOrder(wanted, (row) => queries.insertSourceMapping(sql, row));
      await publishChange();
      return tally(rows);
    }),
  ];
}

const unknownSource = (source: string, known: ReadonlySet<string>) =>
  fieldProblem(
    "source",
    `there is no source "${source}": use one of ${[...known].join(", ")}, or create a webhook mapping with this source first`,
  );

/** Inserted one after the other, because tasks are started in the order of their mappings' ids. */
async function inOrder<T, R>(rows: readonly T[], insert: (row: T) => Promise<R>): Promise<R[]> {
  const inserted: R[] = [];
  for (const row of rows) inserted.push(await insert(row));
  return inserted;
}

const tally = (rows: readonly unknown[]) => {
  const created = rows.filter(Boolean).length;
  return { created, skipped: rows.length - created };
};
