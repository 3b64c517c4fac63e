/** What is kept from the first step on, so that a setup that broke off is taken up again and a teardown finds all of it. */
export interface State {
  readonly source: string;
  readonly source_project_id: string;
  readonly pm_agent_id: string;
  readonly project?: { readonly id: number };
  readonly issue?: { readonly key: string; readonly url: string } | null;
}
/** Of the project. */
export const name = "Module update (demonstration)";
