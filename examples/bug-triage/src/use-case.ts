import { type OperationsAccess, PluginError, type UseCase } from "@signalbox/sdk";
import { find, make, type Piece, piecesOf, unmake } from "./pieces.ts";

/** Kept from the setup to the teardown. */
interface State {
  readonly project: string;
}

/** Every piece is made in its turn and known by its own name, so a setup that broke off anywhere goes on, and can be undone. */
export const bugTriage = (operations: OperationsAccess): UseCase => ({
  about: "An agent of its own triages the new issues of one project at alpha.",
  setup: async ({ project_id, source }, { state, save }) => {
    if (source !== undefined && source !== "alpha")
      throw new PluginError("invalid_input", `source: this use case knows alpha only; it is ${JSON.stringify(source)}`);
    const { project } = (state as unknown as State | null) ?? { project: project_id ?? "octo/bug-triage" };
    const pieces = piecesOf(project);
    if (state === null) {
      const [first] = pieces as [Piece, ...Piece[]];
      if (await find(operations, first))
        throw new PluginError("conflict", `alpha has a project ${project} already; name another by project_id.`);
      // Said before anything is made: what is found under these names afterwards is ours.
      await save({ project });
    }
    const [made] = await inTurn(pieces, (piece) => make(operations, piece));
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
    const removed = await inTurn(piecesOf(project).reverse(), (piece) => unmake(operations, piece));
    return { status: "torn_down", project_deleted: removed.at(-1) === true, issue_closed: false };
  },
});

async function inTurn<T, R>(all: readonly T[], run: (one: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const one of all) results.push(await run(one));
  return results;
}
