import { type Cases, unique } from "./cases.ts";
import type { World } from "./world.ts";

const project = () => ({ name: "A project", source: "alpha", source_project_id: `octo/${unique("project")}` });
const made = async ({ make }: World) => ({ params: { id: (await make("projects.create", { body: project() })).id } });

export const projects: Cases = {
  "projects.create": { valid: () => ({ body: project() }) },
  "projects.get": { valid: made },
  "projects.update": {
    valid: async (world) => ({ ...(await made(world)), body: { name: "Renamed" } }),
    409: async (world) => {
      const taken = project();
      await world.make("projects.create", { body: taken });
      return { ...(await made(world)), body: { source_project_id: taken.source_project_id } };
    },
  },
  "projects.delete": { valid: made },
  "projects.workflow-context": { valid: made },
  "policy.get": { 400: () => ({ query: { agent_id: "nobody" } }) },
};
