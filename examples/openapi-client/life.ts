import { createHmac } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { client } from "./gen/client.gen.ts";
import * as signalbox from "./gen/sdk.gen.ts";
import type { Project, TaskExecution, WebhookMapping, WebhookReceipt } from "./gen/types.gen.ts";

/**
 * The life cycle of an agent, a project, a mapping and an execution, with the client generated from `openapi.json`.
 * Settings: `SIGNALBOX_URL`, `SIGNALBOX_API_KEY` and `ALPHA_WEBHOOK_SECRET`.
 */
const { SIGNALBOX_URL = "http://127.0.0.1:8000", SIGNALBOX_API_KEY = "", ALPHA_WEBHOOK_SECRET } = process.env;
client.setConfig({ baseUrl: SIGNALBOX_URL, auth: SIGNALBOX_API_KEY });

const repository = "signalbox-example/openapi-client";
const trigger = "example.opened";

/** The data of a successful response. Throws the service's message otherwise. */
function must<T>({ data, error }: { data?: T; error?: { error: string } }, what: string): T {
  if (error) throw new Error(`${what}: ${error.error}`);
  console.log(what);
  return data as T;
}

async function live(): Promise<void> {
  const agent = must(
    await signalbox.agentsCreate({
      body: { id: "example_agent", name: "Example", role_id: "dev", prompt: "Answer in one line." },
    }),
    "an agent is created",
  );
  const listed = await signalbox.agentsList({ query: { limit: 1000 } });
  const there = must(listed, `it is among ${listed.response?.headers.get("x-total-count")} agents`).some(
    ({ id }) => id === agent.id,
  );
  if (!there) throw new Error("the agent is not listed");
  must(await signalbox.agentsUpdate({ path: { id: agent.id }, body: { constraints: ["No jokes."] } }), "it is changed");

  const project = must(
    await signalbox.projectsCreate({ body: { name: "Example", source: "alpha", source_project_id: repository } }),
    "a project is created",
  );
  must(await signalbox.projectsUpdate({ path: { id: project.id }, body: { description: "Ours." } }), "it is changed");
  const task = { id: "example_task", name: "Example", description: "Say what the issue is about.", actor_id: agent.id };
  must(await signalbox.tasksCreate({ body: task }), "a task is created");
  const fires = must(
    await signalbox.triggersCreate({ body: { canonical_trigger: trigger, task_id: task.id } }),
    `the trigger ${trigger} fires it`,
  );
  const mapping = await mapped();

  const ended = await execution(await webhook(), project);
  console.log(`the execution ${ended.id} is ${ended.state}: ${ended.result ?? ended.error}`);

  must(await signalbox.webhookMappingsDelete({ path: { id: mapping.id } }), "the webhook mapping is deleted");
  must(await signalbox.triggersDelete({ path: { id: fires.id } }), "the trigger is deleted");
  must(await signalbox.tasksDelete({ path: { id: task.id } }), "the task is deleted");
  must(await signalbox.projectsDelete({ path: { id: project.id } }), "the project is deleted");
  must(await signalbox.agentsDelete({ path: { id: agent.id } }), "the agent is deleted");
  const { error, response } = await signalbox.agentsGet({ path: { id: agent.id } });
  if (response?.status !== 404) throw new Error(`the agent was deleted, but GET answers ${response?.status}`);
  console.log(`and is gone: ${error?.error}`);
}

/** A webhook mapping for the issues of the repository. */
async function mapped(): Promise<WebhookMapping> {
  const mapping = must(
    await signalbox.webhookMappingsCreate({
      body: { source: "alpha", event_type: "issues.opened", jq_filter: "false", canonical_trigger: trigger },
    }),
    "a webhook mapping is created",
  );
  return must(
    await signalbox.webhookMappingsUpdate({
      path: { id: mapping.id },
      body: { jq_filter: `.repository.full_name == ${JSON.stringify(repository)}` },
    }),
    "it is changed to match the project's issues",
  );
}

/** Sends the webhook of an opened issue. */
async function webhook(): Promise<WebhookReceipt> {
  const body = {
    action: "opened",
    issue: { number: 1, title: "Dark mode", body: "Please.", state: "open", user: { login: "mona" }, labels: [] },
    repository: { full_name: repository },
    sender: { login: "mona" },
  };
  const signature = ALPHA_WEBHOOK_SECRET && createHmac("sha256", ALPHA_WEBHOOK_SECRET).update(JSON.stringify(body)).digest("hex");
  const headers = { "x-alpha-event": "issues", ...(signature && { "x-hub-signature-256": `sha256=${signature}` }) };
  return must(await signalbox.webhooksReceive({ path: { slug: "alpha" }, body, headers }), "a webhook comes in");
}

/** Waits until the execution that the webhook started has ended. */
async function execution({ executions = [] }: WebhookReceipt, project: Project): Promise<TaskExecution> {
  const [started] = executions;
  if (!started) throw new Error("the webhook started no execution");
  for (let tries = 0; tries < 300; tries++) {
    const { data } = await signalbox.taskExecutionsGet({ path: { id: started.id }, throwOnError: true });
    if (data.project_id !== project.id) throw new Error("the execution is not the project's");
    if (data.state !== "queued" && data.state !== "running") return data;
    await sleep(100);
  }
  throw new Error("the execution has not ended within 30 seconds");
}

await live();
