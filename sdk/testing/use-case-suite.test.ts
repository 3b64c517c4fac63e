import { expect, test } from "vitest";
import { z } from "zod";
import { PluginError } from "../errors.ts";
import { definePlugin } from "../plugin.ts";
import type { OperationsAccess, TrackersAccess, UseCase, UseCaseContext } from "../use-case.ts";
import { testUseCase } from "./index.ts";

interface Host {
  readonly operations: OperationsAccess;
  readonly trackers: TrackersAccess;
}
type State = { project?: number; issue?: { key: string; url: string } | null };
const mapping = { source: "alpha", canonical_trigger: "sample.created" };

/** A use case that does what it must: an agent checked, a project, a mapping, an issue. */
const good = ({ operations, trackers }: Host): UseCase => ({
  about: "A sample: a project, a mapping and an issue.",
  setup: async (_, call) => {
    const state: State = { ...(call.state as State | null) };
    const keep = (more: State) => call.save(Object.assign(state, more) as never);
    await operations.call("agents.get", { id: "pm_default" }).catch(() => {
      throw new PluginError("conflict", "The agent pm_default does not exist.");
    });
    await keep({});
    const { items } = (await operations.call("projects.list", { limit: 1 })) as unknown as { items: { id: number }[] };
    const project = items[0] ?? ((await operations.call("projects.create", { name: "Sample" })) as unknown as { id: number });
    await keep({ project: project.id });
    await operations.call("webhook-mappings.create", mapping).catch((error: PluginError) => {
      if (error.code !== "conflict") throw error;
    });
    const newIssue = { project: "octo/sample", title: "Sample", body: "" };
    if (state.issue === undefined)
      await keep({ issue: await trackers.createIssue("alpha", newIssue, { ...call, key: "sample" }) });
    return {
      status: "ready",
      agents_verified: ["pm_default"],
      next_steps: ["Look at it."],
      project: { project_id: "octo/sample", name: "Sample", id: project.id },
      tracker_issue: state.issue ?? null,
    };
  },
  teardown: async ({ state, signal }) => {
    for (const noun of ["projects", "webhook-mappings"]) {
      const { items } = (await operations.call(`${noun}.list`, {})) as unknown as { items: { id: number }[] };
      for (const { id } of items) await operations.call(`${noun}.delete`, { id });
    }
    const { project, issue } = (state ?? {}) as State;
    if (issue) await trackers.closeIssue("alpha", { project: "octo/sample", key: issue.key }, { key: "sample", signal });
    return { status: "gone", project_deleted: project !== undefined, issue_closed: Boolean(issue) };
  },
});

async function failuresOf(change: (useCase: UseCase, host: Host) => Partial<UseCase>): Promise<string[]> {
  const plugin = definePlugin({
    id: "sample",
    version: "1.0.0",
    sdk: "^0.1.0",
    config: z.object({}),
    needs: ["operations", "trackers"],
    setup: (host) => {
      const useCase = good(host as unknown as Host);
      return { useCases: { sample: { ...useCase, ...change(useCase, host as unknown as Host) } } };
    },
  });
  const failedCases: string[] = [];
  for (const { name, run } of testUseCase(plugin, { needs_agent: "pm_default" }))
    await run().catch(() => failedCases.push(name.replace("use case sample.sample: ", "")));
  return failedCases;
}

const forgetful = (call: UseCaseContext): UseCaseContext => ({ ...call, save: async () => {} });

test("a correct use case passes", async () => {
  expect(await failuresOf(() => ({}))).toEqual([]);
});

test.each<[string, Parameters<typeof failuresOf>[0], string]>([
  ["says nothing of what it does", () => ({ about: "" }), "has a complete declaration"],
  [
    "names a project that is not there",
    (u) => ({ setup: async (r, c) => ({ ...(await u.setup(r, c)), project: { project_id: "x", name: "x", id: 99 } }) }),
    "setup returns what it created",
  ],
  ["forgets what it made", (u) => ({ setup: (r, c) => u.setup(r, forgetful(c)) }), "a repeated setup returns the existing one"],
  [
    "makes an issue each time",
    (u) => ({ setup: (r, c) => u.setup(r, { ...c, state: null }) }),
    "a repeated setup returns the existing one",
  ],
  [
    "removes the agents too",
    (u, { operations }) => ({
      teardown: async (c) => {
        await operations.call("agents.delete", { id: "qa_default" }).catch(() => null);
        return u.teardown(c);
      },
    }),
    "teardown deletes what setup created, and nothing else",
  ],
  [
    "leaves the mapping",
    (u, { operations }) => ({
      teardown: async (c) => {
        const done = await u.teardown(c);
        if (c.state) await operations.call("webhook-mappings.create", mapping);
        return done;
      },
    }),
    "an interrupted setup can be torn down",
  ],
  [
    "claims to have removed what never was",
    (u) => ({ teardown: async (c) => ({ ...(await u.teardown(c)), project_deleted: true }) }),
    "teardown can be repeated, and run before a setup",
  ],
  [
    "makes a project before it looks for its agent",
    (u, { operations }) => ({
      setup: async (r, c) => {
        await operations.call("projects.create", { name: "Sample" }).catch(() => null);
        return u.setup(r, c);
      },
    }),
    "a missing agent is a conflict",
  ],
])("one that %s fails", async (_, change, name) => {
  expect(await failuresOf(change)).toContain(name);
});
