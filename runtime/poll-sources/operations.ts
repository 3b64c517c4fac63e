import * as pollSources from "@signalbox/schema/poll-sources";
import { fieldProblem, problem } from "@signalbox/schema/problem";
import { type BoundOperation, handle } from "../platform/operation.ts";
import type { Host } from "../plugins/host.ts";
import { type PollDeps, pollOnce } from "./poll.ts";
import { deletePollSource, findPollSource, insertPollSource, listPollSources, updatePollSource } from "./queries.ts";

const notFound = (id: number) => problem("not_found", `There is no poll source ${id}.`);

export interface PollParts extends Omit<PollDeps, "sql"> {
  readonly host: Pick<Host, "sources">;
  /** The schedule has changed, so look now. */
  readonly onChange: () => void;
}

export function pollSourceOperations({ host, onChange, ...deps }: PollParts): BoundOperation[] {
  const mustPoll = (source: string | undefined) => {
    if (source === undefined || host.sources.get(source)?.adapter.poll) return;
    const able = [...host.sources.values()].filter((entry) => entry.adapter.poll).map((entry) => entry.name);
    const what = host.sources.has(source) ? `"${source}" cannot be polled` : `there is no source "${source}"`;
    throw fieldProblem("source", `${what}; sources that can be polled: ${able.join(", ") || "none"}`);
  };
  return [
    handle(pollSources.list, (page, { sql }) => listPollSources(sql, page)),
    handle(pollSources.get, async ({ id }, { sql }) => {
      const row = await findPollSource(sql, id);
      if (!row) throw notFound(id);
      return row;
    }),
    handle(pollSources.create, async (input, { sql }) => {
      mustPoll(input.source);
      const row = await insertPollSource(sql, input);
      onChange();
      return row;
    }),
    handle(pollSources.update, async ({ id, ...change }, { sql }) => {
      mustPoll(change.source);
      const row = await updatePollSource(sql, id, change);
      if (!row) throw notFound(id);
      onChange();
      return row;
    }),
    handle(pollSources.remove, async ({ id }, { sql }) => {
      if (!(await deletePollSource(sql, id))) throw notFound(id);
      return {};
    }),
    handle(pollSources.poll, async ({ id }, { sql, signal }) => {
      const row = await findPollSource(sql, id);
      if (!row) throw notFound(id);
      return pollOnce(row, null, signal, { sql, ...deps });
    }),
  ];
}
