import { type EventText, factList, plainLine, sections, stringAt, stripMarker, valueAt } from "@signalbox/sdk";

type Path = readonly string[];
/** How to show an event that is not about an issue, a pull request or a comment: its object, and which members of it. */
interface ShownEvent {
  readonly kind: string;
  /** Member of the payload with the object; the payload itself if absent. */
  readonly of?: string;
  readonly title?: readonly Path[];
  readonly facts: readonly (readonly [string, Path])[];
  readonly body?: Path;
}

const run = [
  ["Status", ["status"]] as const,
  ["Conclusion", ["conclusion"]] as const,
  ["Branch", ["head_branch"]] as const,
  ["Commit", ["head_sha"]] as const,
  ["Link", ["html_url"]] as const,
];
const alert = [
  ["State", ["state"]] as const,
  ["Severity", ["rule", "severity"]] as const,
  ["Severity", ["security_advisory", "severity"]] as const,
  ["Link", ["html_url"]] as const,
];
const ref = [["Type", ["ref_type"]] as const, ["Ref", ["ref"]] as const];

const events: Readonly<Record<string, ShownEvent>> = {
  check_run: {
    kind: "Check run",
    of: "check_run",
    title: [["name"]],
    body: ["output", "summary"],
    facts: [...run, ["Branch", ["check_suite", "head_branch"]], ["Result", ["output", "title"]]],
  },
  check_suite: { kind: "Check suite", of: "check_suite", title: [["app", "name"]], facts: run },
  workflow_run: {
    kind: "Workflow run",
    of: "workflow_run",
    title: [["name"]],
    facts: [...run, ["Started by", ["event"]], ["Title", ["display_title"]]],
  },
  workflow_job: {
    kind: "Workflow job",
    of: "workflow_job",
    title: [["name"]],
    facts: [...run, ["Workflow", ["workflow_name"]]],
  },
  status: {
    kind: "Commit status",
    title: [["context"]],
    body: ["description"],
    facts: [
      ["State", ["state"]],
      ["Commit", ["sha"]],
      ["Link", ["target_url"]],
    ],
  },
  deployment: {
    kind: "Deployment",
    of: "deployment",
    title: [["environment"]],
    body: ["description"],
    facts: [
      ["Ref", ["ref"]],
      ["Commit", ["sha"]],
      ["Created by", ["creator", "login"]],
    ],
  },
  release: {
    kind: "Release",
    of: "release",
    title: [["name"], ["tag_name"]],
    body: ["body"],
    facts: [
      ["Tag", ["tag_name"]],
      ["Author", ["author", "login"]],
      ["Link", ["html_url"]],
    ],
  },
  milestone: {
    kind: "Milestone",
    of: "milestone",
    title: [["title"]],
    body: ["description"],
    facts: [
      ["State", ["state"]],
      ["Due", ["due_on"]],
      ["Link", ["html_url"]],
    ],
  },
  label: { kind: "Label", of: "label", title: [["name"]], facts: [], body: ["description"] },
  merge_group: {
    kind: "Merge group",
    of: "merge_group",
    title: [["head_ref"]],
    body: ["head_commit", "message"],
    facts: [
      ["Into", ["base_ref"]],
      ["Commit", ["head_sha"]],
    ],
  },
  create: { kind: "Created", title: [["ref"]], facts: ref },
  delete: { kind: "Deleted", title: [["ref"]], facts: ref },
  dependabot_alert: {
    kind: "Dependabot alert",
    of: "alert",
    title: [["security_advisory", "summary"]],
    facts: [...alert, ["Package", ["dependency", "package", "name"]]],
    body: ["security_advisory", "description"],
  },
  code_scanning_alert: {
    kind: "Code scanning alert",
    of: "alert",
    title: [
      ["rule", "description"],
      ["rule", "name"],
    ],
    facts: alert,
    body: ["most_recent_instance", "message", "text"],
  },
  secret_scanning_alert: {
    kind: "Secret scanning alert",
    of: "alert",
    title: [["secret_type_display_name"], ["secret_type"]],
    facts: [...alert, ["Resolution", ["resolution"]]],
  },
};

/** The platform's own limit for a body, in characters. */
const maxTextLength = 65_536;
/** Commits of a push that are shown. */
const maxCommits = 20;

/** The text of an event that is not about an issue, a pull request or a comment: never `""`, so that a run knows what happened. */
export function otherText(event: string, action: string | null, payload: unknown): EventText {
  if (event === "") return "";
  const known = Object.hasOwn(events, event) ? events[event] : undefined;
  const { kind, of, title = [], facts, body } = known ?? { kind: event.replaceAll("_", " "), facts: [] };
  const item = of === undefined ? payload : valueAt(payload, of);
  const name = title.map((path) => stringAt(item, path, 500)).find((one) => one !== null);
  return sections(
    `# ${plainLine(kind)}${name ? `: ${plainLine(name)}` : ""}`,
    factList([
      ["Action", action],
      ["Repository", stringAt(payload, ["repository", "full_name"], 300)],
      ...facts.map(([label, path]) => [label, stringAt(item, path, 2000)] as const),
      ...(event === "push" ? pushFacts(payload) : []),
    ]),
    event === "push" ? commits(payload) : "",
    failedSteps(item),
    body ? stripMarker(stringAt(item, body, maxTextLength) ?? "") : "",
  );
}

const pushFacts = (payload: unknown) =>
  [
    ["Ref", stringAt(payload, ["ref"], 500)],
    ["Before", stringAt(payload, ["before"], 100)],
    ["After", stringAt(payload, ["after"], 100)],
    ["Link", stringAt(payload, ["compare"], 2000)],
  ] as const;

function commits(payload: unknown): string {
  const listed = valueAt(payload, "commits");
  // A new branch or tag lists no commits, but has a head.
  const all = Array.isArray(listed) && listed.length > 0 ? listed : [valueAt(payload, "head_commit")].filter(Boolean);
  if (all.length === 0) return "";
  const lines = all.slice(0, maxCommits).map((one) => {
    const title = stringAt(one, ["message"], 200)?.split("\n")[0] ?? "";
    return `- ${stringAt(one, ["id"], 12) ?? "?"} ${plainLine(title)}`;
  });
  const more = all.length > maxCommits ? `\n- and ${all.length - maxCommits} more` : "";
  return `## Commits\n\n${lines.join("\n")}${more}`;
}

/** The steps of a job that failed. */
function failedSteps(job: unknown): string {
  const steps = valueAt(job, "steps");
  if (!Array.isArray(steps)) return "";
  const failed = steps
    .slice(0, 200)
    .filter((step) => valueAt(step, "conclusion") === "failure")
    .map((step) => `- ${plainLine(stringAt(step, ["name"], 200) ?? "?")}`);
  return failed.length > 0 ? `## Failed steps\n\n${failed.join("\n")}` : "";
}
