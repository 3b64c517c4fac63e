import type { Policy } from "@signalbox/schema/policy";
import { expect, test } from "vitest";
import type { Bus } from "../platform/bus.ts";
import type { Sql } from "../platform/database/client.ts";
import { noLog } from "../transports/http/testing/door.ts";
import { openPolicies } from "./policies.ts";

test("work that has begun follows a change, and is not less restricted once its agent or project is deleted", async () => {
  const stored: { agents: Policy | null; projects: Policy | null } = { agents: null, projects: { run_writes: 3 } };
  const sql = async (parts: TemplateStringsArray) => {
    const isOfAgents = String(parts).includes("from agents");
    const policy = isOfAgents ? stored.agents : stored.projects;
    return policy ? [{ id: isOfAgents ? "pm" : 1, source: "alpha", source_project_id: "octo/app", policy }] : [];
  };
  const bus = { on: () => {} } as unknown as Bus;
  const policies = await openPolicies(sql as unknown as Sql, bus, noLog, {});
  const valuesOf = ({ staged, run_writes }: ReturnType<typeof policies.of>) => [staged.value, run_writes.value];
  const now = policies.during("pm", 1);
  expect(valuesOf(now())).toEqual([false, 3]);
  const change = async (agents: Policy | null, projects: Policy | null) => {
    Object.assign(stored, { agents, projects });
    await policies.refresh();
    return [valuesOf(now()), valuesOf(policies.of("pm", 1))];
  };
  expect(await change({ staged: true }, { run_writes: 2 })).toEqual([
    [true, 2],
    [true, 2],
  ]);
  expect(await change(null, { run_writes: 4 })).toEqual([
    [true, 4],
    [false, 4],
  ]);
  expect(await change(null, null)).toEqual([
    [true, 4],
    [false, 10],
  ]);
  policies.close();
});
