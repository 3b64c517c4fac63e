/** The three stages of an issue, their triggers and their default tasks. */
export const triggers = {
  created: { trigger: "module_update.created", task: "triage_initial_intent" },
  started: { trigger: "module_update.started", task: "tech_discovery_review" },
  finished: { trigger: "module_update.finished", task: "quality_verification" },
} as const;
export const prefix = "module_update.";

const startedState = '"^(discovery|in[ _-]?progress)$"; "i"';
const endedStatus = '"^(done|closed)$"; "i"';
type Station = keyof typeof triggers;
type Rule = readonly [station: Station, event: string, filter: string];

/** Condition: the status at `path` has one of the names in `words`. */
const movedTo = (path: string, words: string) => `((${path}) // "" | tostring | test(${words}))`;

/** delta reports a move in `changes` or as an activity, with the state's name or its id; `data.state` has the current state. */
const movedDelta = (words: string) =>
  `([.data.changes.state.new, (select(.activity.field? | IN("state", "state_id")) | .activity.new_value, .data.state)] | map(.name? // .) | any(strings | test(${words})))`;

/**
 * The event and condition of each stage per platform. `{project}` is the project as a JSON string. Event names are those of the
 * mappings.
 */
const rules: Readonly<Record<string, { readonly own: string; readonly rules: readonly Rule[] }>> = {
  alpha: {
    own: "(.repository.full_name | ascii_downcase) == ({project} | ascii_downcase)",
    rules: [
      ["created", "issues.opened", "true"],
      ["started", "issues.labeled", movedTo(".label.name", startedState)],
      ["finished", "issues.closed", "true"],
    ],
  },
  beta: {
    own: "(.project.path_with_namespace | ascii_downcase) == ({project} | ascii_downcase)",
    rules: [
      ["created", "Issue Hook.open", "true"],
      [
        "started",
        "Issue Hook.update",
        `([.changes.labels.current[]?.title] - [.changes.labels.previous[]?.title] | any(test(${startedState})))`,
      ],
      ["finished", "Issue Hook.close", "true"],
    ],
  },
  gamma: {
    own: '(.issue.key | ascii_upcase | startswith(({project} | ascii_upcase) + "-"))',
    rules: [
      ["created", "gamma:issue_created", "true"],
      [
        "started",
        "gamma:issue_updated",
        `any(.changelog.items[]?; .field == "status" and ${movedTo(".toString", startedState)})`,
      ],
      [
        "finished",
        "gamma:issue_updated",
        `any(.changelog.items[]?; .field == "status" and ${movedTo(".toString", endedStatus)})`,
      ],
    ],
  },
  delta: {
    own: "((.data.project_id // .data.project | tostring) == {project})",
    rules: [
      ["created", "issue.created", "true"],
      ["started", "issue.updated", movedDelta(startedState)],
      ["finished", "issue.updated", movedDelta(endedStatus)],
    ],
  },
};

export const routable = Object.keys(rules);

/** Webhook mappings for the issues of one project. */
export function mappingsFor(source: string, project: string) {
  const { own, rules: all } = rules[source] ?? { own: "false", rules: [] };
  const ofProject = own.replaceAll("{project}", JSON.stringify(project));
  return all.map(([station, event_type, filter]) => ({
    source,
    event_type,
    jq_filter: filter === "true" ? ofProject : `${ofProject} and ${filter}`,
    canonical_trigger: triggers[station].trigger,
  }));
}
