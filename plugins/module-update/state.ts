/** Stored from the first step on, so that an interrupted setup can continue and a teardown finds everything. */
export interface State {
  readonly source: string;
  readonly source_project_id: string;
  readonly pm_agent_id: string;
  readonly project?: { readonly id: number };
  readonly issue?: { readonly key: string; readonly url: string } | null;
}
/** Name of the project. */
export const name = "Module update (demonstration)";
