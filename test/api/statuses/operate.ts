import { waitForExecutions } from "../../harness/wait.ts";
import type { Arrange, Cases } from "./cases.ts";
import { accepted } from "./events.ts";

const ofAgent = { scope: "agent", id: "qa_default" };
const paused: Arrange = async ({ make }) => {
  await make("pauses.pause", { body: { ...ofAgent, reason: "A check of the statuses." } });
  return { body: ofAgent };
};

/** What operators ask and order. */
export const operate: Cases = {
  "task-executions.events": {
    valid: async (world) => {
      const { event_id } = await accepted(world);
      const [execution] = await waitForExecutions(world.main, { event_id, count: 2 });
      return { params: { id: execution?.id ?? "" } };
    },
  },
  "configuration.get": { valid: () => ({}) },
  "events.follow": { valid: () => ({ query: { seconds: 1 } }), 400: () => ({ query: { seconds: 0 } }) },
  "pauses.pause": { valid: () => ({ body: { ...ofAgent, reason: "A check of the statuses." } }) },
  "pauses.resume": { valid: paused, 404: () => ({ body: { scope: "agent", id: "pm_default" } }) },
  "subjects.search": { valid: () => ({ query: { q: "octo/statuses#1" } }), 400: () => ({ query: { q: "" } }) },
  "subjects.get": {
    valid: async (world) => {
      await accepted(world);
      return { params: { source: "alpha", project: "octo%2Fstatuses", issue: "1" } };
    },
    404: () => ({ params: { source: "nothing", project: "octo", issue: "1" } }),
  },
};
