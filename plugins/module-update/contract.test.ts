import { testUseCase } from "@signalbox/sdk/testing";
import { test } from "vitest";
import plugin from "./index.ts";

for (const source of ["alpha", "beta", "gamma", "delta"])
  for (const c of testUseCase(plugin, { source, needs_agent: "qa_default" })) test(`${source}: ${c.name}`, c.run);
for (const c of testUseCase(plugin, { needs_agent: "dev_default", request: { pm_agent_id: "dev_default" } })) {
  // A named agent that does not exist is the caller's mistake, not a missing seed.
  if (!c.name.includes("a missing agent")) test(`another PM: ${c.name}`, c.run);
}
