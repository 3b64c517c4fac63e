import { type Arrange, type Cases, unique } from "./cases.ts";
import { inRedis, type World } from "./world.ts";

const tool = () => ({ provider: "open", name: unique("tool"), endpoint: "https://tools.example/run" });
const stored = async ({ make }: World) => ({ params: await make<{ qualified_name: string }>("tools.create", { body: tool() }) });
const getIssue = { params: { qualified_name: "alpha.get_issue" }, body: { parameters: { project: "octo/app", issue: 1 } } };

const chat = (agent_id = "pm_default") => ({ body: { agent_id, messages: [{ role: "user", content: "Hello" }] } });

const memory = () => ({ key: unique("memory"), content: "The deployment is on Fridays.", scope: "organizational" });
const kept = async ({ make }: World) => ({ params: await make<{ key: string }>("memory.create", { body: memory() }) });
const broken =
  (sent: object): Arrange =>
  async ({ breakRedis }) => {
    await breakRedis();
    return { at: "bare", ...sent };
  };

const useCase = { params: { use_case: "module-update" } };
const tornDown = async ({ make }: World) => {
  await make("use-cases.teardown", useCase);
  return { project_id: `octo/${unique("demonstration")}` };
};

export const work: Cases = {
  "tools.create": { valid: () => ({ body: tool() }) },
  "tools.update": {
    valid: async (world) => ({ ...(await stored(world)), body: { description: "Does it." } }),
    409: async ({ make }) => {
      await make("tools.seed");
      return { params: { qualified_name: "alpha.add_comment" }, body: { endpoint: "https://tools.example/run" } };
    },
  },
  "tools.delete": { valid: stored },
  "tools.execute": {
    valid: () => getIssue,
    502: ({ tracker }) => {
      tracker.fault({ path: "/issues/1", status: 401, times: 0 });
      return getIssue;
    },
    503: () => ({ ...getIssue, at: "bare" }),
  },
  "llm.chat": {
    valid: () => chat(),
    404: () => chat("nobody"),
    502: ({ model }) => {
      model.fault({ path: "chat", status: 400, times: 0 });
      return chat();
    },
    503: () => ({ ...chat(), at: "bare" }),
  },
  "memory.search": {
    valid: () => ({ body: { query: "When do we deploy?" } }),
    502: ({ model }) => {
      model.fault({ path: "embeddings", status: 400, times: 0 });
      return { body: { query: unique("a question nobody asked") } };
    },
    503: broken({ body: { query: "deployment", scope: "task", mode: "keyword" } }),
  },
  "memory.list": { 503: broken({ query: { scope: "task" } }) },
  "memory.create": { valid: () => ({ body: memory() }), 503: broken({ body: { ...inRedis, key: "another" } }) },
  "memory.get": { valid: kept, 503: broken({ params: { key: inRedis.key } }) },
  "memory.uses": { valid: kept },
  "memory.delete": { valid: kept, 503: broken({ params: { key: inRedis.key } }) },
  "health.get": { 503: broken({}) },
  "usage.get": { 400: () => ({ query: { group_by: "week" } }) },
  "watchdog.list": { 503: () => ({ at: "bare" }) },
  "use-cases.setup": {
    valid: () => ({ ...useCase, body: {} }),
    409: async (world) => {
      const wanted = await tornDown(world);
      const theirs = { name: "Theirs", source: "alpha", source_project_id: wanted.project_id };
      await world.make("projects.create", { body: theirs });
      return { ...useCase, body: wanted };
    },
    502: async (world) => {
      world.tracker.fault({ method: "POST", path: "/issues$", status: 404, times: 0 });
      return { ...useCase, body: await tornDown(world) };
    },
  },
  "use-cases.teardown": { valid: () => useCase },
};
