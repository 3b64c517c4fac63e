import {
  ifCode,
  type Json,
  type OperationsAccess,
  PluginError,
  type PluginErrorCode,
  type TrackersAccess,
  type UseCase,
} from "@signalbox/sdk";
import { finish } from "./answer.ts";
import { mappingsFor, prefix, routable, triggers } from "./routing.ts";
import { name, type State } from "./state.ts";

interface HostAccess {
  readonly operations: OperationsAccess;
  readonly trackers: TrackersAccess;
}
type Row = Readonly<Record<string, unknown>>;

/** Task for a PM agent other than the default one; it has the fallback of the default task. */
const ownTask = "module_update_triage";
/** Default project of the sample issue. */
const places: Readonly<Record<string, string>> = { gamma: "DEMO", delta: "DEMO" };
const place = "signalbox-demo/module-update";

export const moduleUpdate = (host: HostAccess): UseCase => ({
  about: "Updates a module: PM analysis when its issue is created, technical analysis when work starts, QA when it is closed.",
  setup: async (request, call) => {
    const before = call.state as State | null;
    if (request.source !== undefined && !routable.includes(request.source))
      throw new PluginError("invalid_input", `source: must be one of ${routable.join(", ")}; it is "${request.source}"`);
    if (before) await refuseOther(request, before, host.trackers, call.signal);
    const state: State = before ?? (await choose(request, host.trackers, call.signal));
    const agents = await verify(host.operations, state.pm_agent_id, request.pm_agent_id !== undefined && !before);
    let current = state;
    const keep = async (more: Partial<State>) => {
      current = { ...current, ...more };
      await call.save(current as unknown as Json);
    };
    // Checked before anything is created, so that every later object with this name is ours.
    if (!before) {
      await refuseTaken(host.operations, state);
      await keep({});
    }
    const project = await makeProject(host.operations, state, request.project_context ?? {});
    await keep({ project: { id: project.id } });
    await route(host.operations, state);
    if (current.issue === undefined) {
      const issue = await makeIssue(host, state, request.project_context ?? {}, call.signal);
      await keep({ issue });
    }
    return finish(current as State & Required<Pick<State, "project">>, agents);
  },
  teardown: async ({ state, signal }) => {
    const saved = state as State | null;
    await unroute(host.operations);
    if (!saved) return { status: "nothing_to_do", project_deleted: false, issue_closed: false };
    const project = saved.project ?? (await find(host.operations, "projects.list", (one) => isOurs(one, saved)));
    const project_deleted = project ? await deleteIfPresent(host.operations, "projects.delete", { id: project.id }) : false;
    const { issue } = saved;
    // If the tracker is unavailable the rest is still removed; the issue stays open.
    const issue_closed = issue
      ? await host.trackers
          .closeIssue(saved.source, { project: saved.source_project_id, key: issue.key }, { key: "module-update", signal })
          .catch(() => false)
      : false;
    return { status: "torn_down", project_deleted, issue_closed };
  },
});

interface SetupParameters {
  readonly source?: string | undefined;
  readonly project_id?: string | undefined;
  readonly pm_agent_id?: string | undefined;
}

/** Only one set of parameters at a time: the answer to a request with other parameters would be wrong. */
async function refuseOther(request: SetupParameters, state: State, trackers: TrackersAccess, signal: AbortSignal): Promise<void> {
  const { source, source_project_id, pm_agent_id } = state;
  const other = (member: string, is: string) =>
    new PluginError(
      "conflict",
      `${member}: the use case is already set up with ${is}. Tear it down first: POST /api/use-cases/module-update/teardown`,
    );
  if (request.source !== undefined && request.source !== source) throw other("source", source);
  if (request.pm_agent_id !== undefined && request.pm_agent_id !== pm_agent_id) throw other("pm_agent_id", pm_agent_id);
  if (request.project_id === undefined || request.project_id === source_project_id) return;
  const id = await trackers.projectId(source, request.project_id, { key: "module-update", signal }).catch(() => undefined);
  if (id === undefined || !isSameProject(id, source_project_id)) throw other("project_id", source_project_id);
}

async function choose(request: SetupParameters, trackers: TrackersAccess, signal: AbortSignal): Promise<State> {
  const configured = trackers.configured().filter((one) => routable.includes(one));
  const source = request.source ?? (configured.includes("gamma") ? "gamma" : (configured[0] ?? "alpha"));
  const named = request.project_id ?? places[source] ?? place;
  // Webhooks contain the platform's own id.
  const source_project_id = await trackers
    .projectId(source, named, { key: "module-update", signal })
    .catch((error: PluginError) => {
      const code = error.code === "not_found" ? "invalid_input" : (error.code ?? "failed");
      throw new PluginError(code, `project_id: ${error.message}. Set it to another project of ${source}.`);
    });
  return { source, source_project_id, pm_agent_id: request.pm_agent_id ?? "pm_default" };
}

/** Checks that the agents and tasks of the three analyses exist. */
async function verify(operations: OperationsAccess, pm: string, named: boolean): Promise<string[]> {
  const agents = [pm, "ta_default", "qa_default"];
  for (const id of agents) {
    if (await exists(operations, "agents.get", { id })) continue;
    if (id === pm && named) throw new PluginError("invalid_input", `pm_agent_id: agent "${id}" does not exist`);
    throw new PluginError("conflict", `Agent "${id}" does not exist. Run the default seed first: POST /api/agents/seed`);
  }
  for (const { task } of Object.values(triggers)) {
    if (await exists(operations, "tasks.get", { id: task })) continue;
    throw new PluginError("conflict", `Task "${task}" does not exist. Run the default seed first: POST /api/tasks/seed`);
  }
  return agents;
}

/** The platforms ignore case in the ids of projects. */
const isSameProject = (one: unknown, other: string) => String(one).toLowerCase() === other.toLowerCase();
const isOurs = (row: Row, state: State) =>
  row.source === state.source && isSameProject(row.source_project_id, state.source_project_id);

async function refuseTaken(operations: OperationsAccess, state: State): Promise<void> {
  const other = await find(operations, "projects.list", (one) => isOurs(one, state));
  if (!other) return;
  throw new PluginError(
    "conflict",
    `Project ${state.source_project_id} of ${state.source} already exists (id ${other.id}). Delete it, or set project_id to another one.`,
  );
}

async function makeProject(
  operations: OperationsAccess,
  state: State,
  context: Readonly<Record<string, string>>,
): Promise<{ id: number }> {
  const { source, source_project_id } = state;
  const existing = await find(operations, "projects.list", (one) => isOurs(one, state));
  if (existing) return existing;
  const description = ["Created by the use case module-update.", ...facts(context)].join("\n");
  return (await operations.call("projects.create", { name, description, source, source_project_id })) as unknown as {
    id: number;
  };
}

const facts = (context: Readonly<Record<string, string>>): string[] =>
  Object.entries(context).map(([label, value]) => `- ${label.replaceAll("_", " ")}: ${value}`);

async function route(operations: OperationsAccess, state: State): Promise<void> {
  const own = state.pm_agent_id !== "pm_default";
  if (own) {
    const description = "Analyse what the issue asks for: intent, scope, open questions.";
    await createIfAbsent(operations, "tasks.create", {
      id: ownTask,
      name: "Module update: triage",
      description,
      actor_id: state.pm_agent_id,
    });
  }
  for (const { trigger, task } of Object.values(triggers)) {
    const task_id = own && task === triggers.created.task ? ownTask : task;
    await createIfAbsent(operations, "triggers.create", { canonical_trigger: trigger, task_id });
  }
  for (const mapping of mappingsFor(state.source, state.source_project_id))
    await createIfAbsent(operations, "webhook-mappings.create", mapping);
}

async function unroute(operations: OperationsAccess): Promise<void> {
  for (const noun of ["webhook-mappings", "triggers"]) {
    for (const row of await listAll(operations, `${noun}.list`)) {
      if (String(row.canonical_trigger).startsWith(prefix)) await deleteIfPresent(operations, `${noun}.delete`, { id: row.id });
    }
  }
  await deleteIfPresent(operations, "tasks.delete", { id: ownTask });
}

function makeIssue({ trackers }: HostAccess, state: State, context: Readonly<Record<string, string>>, signal: AbortSignal) {
  const body = [
    "The module that reads configuration files is three major versions behind. Update it without a change in behaviour.",
    "",
    "Acceptance: all tests pass; old configuration files are still read; the changelog says what changed.",
    ...(Object.keys(context).length > 0 ? ["", "Context:", "", ...facts(context)] : []),
  ].join("\n");
  const issue = { project: state.source_project_id, title: "Update the configuration module to its latest version", body };
  return trackers.createIssue(state.source, issue, { key: "module-update", signal }).catch((error: PluginError) => {
    const advice = `Tear down, then set project_id to a project of ${state.source} that accepts issues.`;
    throw new PluginError(
      error.code ?? "failed",
      `Failed to create an issue in ${state.source_project_id}: ${error.message.replace(/\.?$/, ".")} ${advice}`,
    );
  });
}

const exists = (operations: OperationsAccess, id: string, input: Row) => unless(operations, id, input, "not_found");
const deleteIfPresent = exists;
const createIfAbsent = (operations: OperationsAccess, id: string, input: Row) => unless(operations, id, input, "conflict");

/** Whether the call succeeded. The given error code means that it did not; other errors are thrown. */
const unless = (operations: OperationsAccess, id: string, input: Row, code: PluginErrorCode): Promise<boolean> =>
  operations.call(id, input).then(() => true, ifCode(code, false));

async function listAll(operations: OperationsAccess, id: string): Promise<Row[]> {
  const found: Row[] = [];
  for (;;) {
    const page = (await operations.call(id, { limit: 1000, offset: found.length })) as unknown as { items: Row[]; total: number };
    found.push(...page.items);
    if (page.items.length < 1000) return found;
  }
}

const find = async (operations: OperationsAccess, id: string, fits: (row: Row) => boolean): Promise<{ id: number } | undefined> =>
  (await listAll(operations, id)).find(fits) as { id: number } | undefined;
