/** Lists of tools, as an agent or a policy names them. */
export interface NamedTools {
  readonly allowed_tools?: readonly string[] | null | undefined;
  readonly policy?: { readonly approve?: readonly string[] | undefined } | undefined;
}

/**
 * Refuses a name in these lists that no tool has and that is probably mistyped. `before`: the stored lists, whose names may be
 * those of tools that were removed.
 */
export type CheckNamedTools = (named: NamedTools, before?: NamedTools) => void;
