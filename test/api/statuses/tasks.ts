import { waitForExecutions } from "../../harness/wait.ts";
import { type Cases, unique } from "./cases.ts";
import { accepted } from "./events.ts";
import type { World } from "./world.ts";

const task = (actor_id = "dev_default") => ({ id: unique("task"), name: "A task", description: "Do it.", actor_id });
const made = async ({ make }: World) => ({ params: { id: (await make("tasks.create", { body: task() })).id } });
const trigger = () => ({ canonical_trigger: `custom.${unique("happened")}`, task_id: "triage_initial_intent" });
const source = () => ({ source: "alpha", event_name: unique("event"), action: "done", canonical_trigger: "issue.created" });

/** The task of an execution that failed: it has neither an agent nor a fallback. */
async function failedTask(world: World): Promise<string> {
  const { id } = await world.make("tasks.create", { body: task("nobody") });
  const mapping = { canonical_trigger: "issue.created", task_id: id };
  const { id: mapped } = await world.make("triggers.create", { body: mapping });
  const { event_id } = await accepted(world);
  await world.make("triggers.delete", { params: { id: mapped } });
  await waitForExecutions(world.main, { event_id, state: "failed" });
  return id;
}

export const tasks: Cases = {
  "tasks.create": { valid: () => ({ body: task() }) },
  "tasks.explain": {
    valid: () => ({ body: { source: "alpha", payload: {} } }),
    404: () => ({ body: { source: "nothing", payload: {} } }),
  },
  "tasks.get": { valid: made },
  "tasks.update": { valid: async (world) => ({ ...(await made(world)), body: { name: "Renamed" } }) },
  "tasks.delete": { valid: made },
  "tasks.resolve": { valid: () => ({ query: { source: "alpha", event: "issues", action: "opened" } }) },
  "tasks.restart": {
    valid: async (world) => ({ params: { id: await failedTask(world) } }),
    409: () => ({ params: { id: "dev_environment_setup" } }),
  },
  "triggers.create": { valid: () => ({ body: trigger() }) },
  "triggers.delete": { valid: async ({ make }) => ({ params: await make("triggers.create", { body: trigger() }) }) },
  "sources.create": { valid: () => ({ body: source() }) },
  "sources.delete": { valid: async ({ make }) => ({ params: await make("sources.create", { body: source() }) }) },
};
