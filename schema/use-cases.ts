import { z } from "zod";
import { rowId, slug, sourceName, text } from "./common.ts";
import { operation } from "./operation.ts";

const use_case = z.string().min(1).max(63).describe("Name of a use case, for example `module-update`.");

export const setup = operation({
  id: "use-cases.setup",
  http: "POST /api/use-cases/:use_case/setup",
  rpc: "UseCaseService.SetUpUseCase",
  summary: "Make what a demonstration needs: its project, its routing and a sample issue. Again: answers what stands.",
  input: z.object({
    use_case,
    pm_agent_id: slug.optional().describe("Agent of the requirements analysis; `pm_default` where absent."),
    project_context: z
      .record(z.string().max(100), z.string().max(2000))
      .optional()
      .describe("For example tech_stack, deployment, team_size."),
    source: sourceName
      .optional()
      .describe("Tracker to use; without it gamma where it is configured, else the first configured one."),
    project_id: text(500).optional().describe("Project at the tracker that takes the sample issue."),
  }),
  output: z
    .object({
      status: z.string(),
      project: z.object({ project_id: z.string(), name: z.string(), id: rowId }).meta({ id: "UseCaseProject" }),
      agents_verified: z.array(z.string()),
      tracker_issue: z.object({ key: z.string(), url: z.string() }).meta({ id: "TrackerIssue" }).nullable(),
      next_steps: z.array(z.string()),
    })
    .meta({ id: "UseCaseSetup" }),
  problems: ["not_found", "conflict", "bad_gateway"],
});
export const teardown = operation({
  id: "use-cases.teardown",
  http: "POST /api/use-cases/:use_case/teardown",
  rpc: "UseCaseService.TearDownUseCase",
  summary: "Remove what the setup made and close its issue; agents and tasks stay. Again: nothing is left to do.",
  input: z.object({ use_case }),
  output: z
    .object({ status: z.string(), project_deleted: z.boolean(), issue_closed: z.boolean() })
    .meta({ id: "UseCaseTeardown" }),
  problems: ["not_found"],
});
