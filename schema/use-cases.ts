import { z } from "zod";
import { rowId, slug, sourceName, text } from "./common.ts";
import { operation } from "./operation.ts";

const use_case = z.string().min(1).max(63).describe("Name of the use case, for example `module-update`.");

export const setup = operation({
  id: "use-cases.setup",
  http: "POST /api/use-cases/:use_case/setup",
  rpc: "UseCaseService.SetUpUseCase",
  summary: "Set up a use case",
  description: "Creates its project, its routing and a sample issue. Repeating the request returns the existing setup.",
  input: z.object({
    use_case,
    pm_agent_id: slug.optional().describe("Agent for the requirements analysis. Default: `pm_default`."),
    project_context: z
      .record(z.string().max(100), z.string().max(2000))
      .optional()
      .describe("Facts about the project, for example `tech_stack`, `deployment`, `team_size`."),
    source: sourceName
      .optional()
      .describe("Source to use. Default: gamma if it is configured, otherwise the first configured source."),
    project_id: text(500).optional().describe("Id of the project at the platform, for the sample issue."),
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
  problems: ["not_found", "wrong_state", "bad_gateway"],
});
export const teardown = operation({
  id: "use-cases.teardown",
  http: "POST /api/use-cases/:use_case/teardown",
  rpc: "UseCaseService.TearDownUseCase",
  summary: "Tear down a use case",
  description:
    "Deletes everything that the setup created and closes its issue. Keeps agents and tasks. Repeating the request has no effect.",
  input: z.object({ use_case }),
  output: z
    .object({ status: z.string(), project_deleted: z.boolean(), issue_closed: z.boolean() })
    .meta({ id: "UseCaseTeardown" }),
  problems: ["not_found"],
});
