import type { UseCaseResult } from "@signalbox/sdk";
import { name, type State } from "./state.ts";

const moves: Readonly<Record<string, readonly [string, string]>> = {
  alpha: ['Add the label "discovery" or "in progress" to it', "Close it"],
  beta: ['Add the label "discovery" or "in progress" to it', "Close it"],
  gamma: ["Move it to Discovery or In Progress", "Move it to Done or Closed"],
  delta: ["Move it to Discovery or In Progress", "Move it to Done or Closed"],
};

/** The result of the setup; the same for every repetition. */
export function finish(state: State & { readonly project: { readonly id: number } }, agents: readonly string[]): UseCaseResult {
  const [start, end] = moves[state.source] ?? ["Move it on", "Finish it"];
  const { issue } = state;
  const first = issue
    ? `Follow the issue ${issue.url}: its creation started the PM analysis, which is posted there as a comment.`
    : `Create an issue in ${state.source_project_id} (or send its webhook to POST /webhook/${state.source}): the PM analysis starts.`;
  return {
    status: "ready",
    project: { project_id: state.source_project_id, name, id: state.project.id },
    agents_verified: agents,
    tracker_issue: issue ?? null,
    next_steps: [
      `Configure ${state.source} to send its issue events to POST /webhook/${state.source}.`,
      first,
      `${start}: the technical analysis starts.`,
      `${end}: the QA verification starts.`,
      `List the executions: GET /api/task-executions?project_id=${state.project.id}`,
      "Remove everything when you are done: POST /api/use-cases/module-update/teardown",
    ],
  };
}
