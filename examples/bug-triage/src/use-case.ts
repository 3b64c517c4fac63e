import { type OperationsAccess, PluginError, type UseCase } from "@signalbox/sdk";
import { find, make, type Piece, piecesOf, unmake } from "./pieces.ts";

/** The state between setup and teardown. */
interface State {
  readonly project: string;
}

/** Every object is created in order under a known name, so an interrupted setup can be continued or undone at any point. */
export const bugTriage = (operations: OperationsAccess): UseCase => ({
  about: "Triages the new issues of one alpha project with its own agent.",
  setup: async ({ project_id, source }, { state, save }) => {
    if (source !== undefined && source !== "alpha")
      throw new PluginError(
        "invalid_input",
        `source: must be "alpha", the only source of this use case; it is ${JSON.stringify(source)}`,
      );
    const { project } = (state as unknown as State | null) ?? { project: project_id ?? "octo/bug-triage" };
    const pieces = piecesOf(project);
    if (state === null) {
      const [first] = pieces as [Piece, ...Piece[]];
      if (await find(operations, first))
        throw new PluginError("conflict", `Project ${project} of alpha already exists. Set project_id to another one.`);
      // Checked before anything is created, so that objects with these names are ours afterwards.
      await save({ project });
    }
    const [made] = await sequentially(pieces, (piece) => make(operations, piece));
    return {
      status: "ready",
      project: { project_id: project, name: String(made?.name), id: Number(made?.id) },
      agents_verified: ["bug_triager"],
      tracker_issue: null,
      next_steps: [`Open an issue in ${project}.`],
    };
  },
  teardown: async ({ state }) => {
    if (state === null) return { status: "nothing_to_do", project_deleted: false, issue_closed: false };
    const { project } = state as unknown as State;
    const removed = await sequentially(piecesOf(project).reverse(), (piece) => unmake(operations, piece));
    return { status: "torn_down", project_deleted: removed.at(-1) === true, issue_closed: false };
  },
});

async function sequentially<T, R>(all: readonly T[], run: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const one of all) results.push(await run(one));
  return results;
}
