import { type OperationsAccess, PluginError, type UseCase, type UseCaseRequest } from "@signalbox/sdk";

interface Project {
  readonly id: number;
  readonly name: string;
}
/** The state that the host stores between setup and teardown. */
interface State {
  readonly source: string;
  readonly project: string;
}

const name = "Triage";
const agent = "pm_default";

/** A setup can be interrupted at any point and called again, so it looks for each object before it creates it. */
export const triage = (operations: OperationsAccess): UseCase => {
  const find = async ({ source, project }: State): Promise<Project | undefined> => {
    const { items } = (await operations.call("projects.list", { limit: 1000 })) as unknown as {
      items: readonly (Project & { source: string; source_project_id: string })[];
    };
    return items.find((one) => one.source === source && one.source_project_id === project);
  };
  const findOrCreate = async (state: State): Promise<Project> =>
    (await find(state)) ??
    ((await operations.call("projects.create", {
      name,
      source: state.source,
      source_project_id: state.project,
    })) as unknown as Project);

  return {
    about: "A project whose new issues the project manager triages.",
    setup: async (request, { state, save }) => {
      await operations.call("agents.get", { id: agent }).catch((error: unknown) => {
        if ((error as PluginError).code !== "not_found") throw error;
        throw new PluginError(
          "conflict",
          `The agent "${agent}" does not exist. Run the default seed first: POST /api/agents/seed`,
        );
      });
      const choice = (state as unknown as State | null) ?? choose(request);
      if (state === null) {
        if (await find(choice))
          throw new PluginError(
            "conflict",
            `${choice.source} already has the project ${choice.project}. Set project_id to another one.`,
          );
        // Saved before the project is created, so that a later call knows that a project with this name is ours.
        await save({ ...choice });
      }
      const project = await findOrCreate(choice);
      return {
        status: "ready",
        project: { project_id: choice.project, name: project.name, id: project.id },
        agents_verified: [agent],
        tracker_issue: null,
        next_steps: [`Open an issue in ${choice.project}.`],
      };
    },
    teardown: async ({ state }) => {
      const project = state === null ? undefined : await find(state as unknown as State);
      if (project) await operations.call("projects.delete", { id: project.id });
      return { status: project ? "torn_down" : "nothing_to_do", project_deleted: project !== undefined, issue_closed: false };
    },
  };
};

const choose = ({ source = "alpha", project_id = "my-plugin/triage" }: UseCaseRequest): State => ({
  source,
  project: project_id,
});
