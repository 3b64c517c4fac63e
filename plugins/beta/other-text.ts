import { type EventText, factList, plainLine, sections, stringAt, stripMarker, valueAt } from "@signalbox/sdk";

type Path = readonly string[];
/**
 * How to show an event that is not about an issue, a merge request or a note. A fact is the first of its paths that has a
 * value.
 */
interface ShownEvent {
  readonly kind: string;
  readonly title?: readonly Path[];
  readonly facts: readonly (readonly [string, ...Path[]])[];
  readonly body?: readonly Path[];
}

const attribute = (name: string): Path => ["object_attributes", name];
const user: readonly [string, Path, Path] = ["By", ["user", "username"], ["user_username"]];

const push: ShownEvent = {
  kind: "Push",
  facts: [user, ["Ref", ["ref"]], ["Before", ["before"]], ["After", ["after"]]],
};

const events: Readonly<Record<string, ShownEvent>> = {
  "Pipeline Hook": {
    kind: "Pipeline",
    title: [attribute("name"), attribute("ref")],
    facts: [
      user,
      ["Status", attribute("status")] as const,
      ["Source", attribute("source")] as const,
      ["Ref", attribute("ref")] as const,
      ["Commit", attribute("sha")] as const,
      ["Message", ["commit", "title"]] as const,
      ["Link", attribute("url")] as const,
      ["Merge request", ["merge_request", "title"]],
    ],
  },
  "Job Hook": {
    kind: "Job",
    title: [["build_name"], ["job_name"]],
    facts: [
      user,
      ["Stage", ["build_stage"], ["job_stage"]] as const,
      ["Status", ["build_status"], ["job_status"]] as const,
      ["Ref", ["ref"]] as const,
      ["Commit", ["sha"]] as const,
      ["Message", ["commit", "message"]] as const,
    ],
  },
  "Push Hook": push,
  "Tag Push Hook": { ...push, kind: "Tag push" },
  "Deployment Hook": {
    kind: "Deployment",
    title: [["environment"]],
    facts: [
      user,
      ["Status", ["status"]] as const,
      ["Commit", ["short_sha"]] as const,
      ["Message", ["commit_title"]] as const,
      ["Address", ["environment_external_url"]] as const,
      ["Link", ["deployable_url"]] as const,
    ],
  },
  "Release Hook": {
    kind: "Release",
    title: [["name"], ["tag"]],
    body: [["description"]],
    facts: [
      ["Action", ["action"]],
      ["Tag", ["tag"]],
      ["Link", ["url"]],
    ],
  },
  "Feature Flag Hook": {
    kind: "Feature flag",
    title: [attribute("name")],
    body: [attribute("description")],
    facts: [user],
  },
  "Wiki Page Hook": {
    kind: "Wiki page",
    title: [attribute("title")],
    body: [attribute("content")],
    facts: [user, ["Link", attribute("url")]],
  },
  "Emoji Hook": {
    kind: "Emoji",
    title: [attribute("name")],
    body: [["note", "note"]],
    facts: [user, ["On", attribute("awardable_type")], ["Link", attribute("awarded_on_url")]],
  },
  "Milestone Hook": {
    kind: "Milestone",
    title: [attribute("title")],
    body: [attribute("description")],
    facts: [
      ["State", attribute("state")],
      ["Due", attribute("due_date")],
    ],
  },
};

/** Longest text of a page or a release, in characters. */
const maxTextLength = 65_536;
/** Commits of a push that are shown. */
const maxCommits = 20;

/**
 * The text of an event that is not about an issue, a merge request or a note: never `""`, so that a run knows what happened.
 * Variables of pipelines are left out: they may contain secrets.
 */
export function otherText(event: string, action: string | null, payload: unknown): EventText {
  if (event === "") return "";
  const known = Object.hasOwn(events, event) ? events[event] : undefined;
  const {
    kind,
    title = [],
    facts,
    body = [],
  } = known ?? { kind: event.replace(/ Hook$/, ""), facts: [["By", ["user", "username"]]] };
  const first = (paths: readonly Path[], limit = 2000) =>
    paths.map((path) => stringAt(payload, path, limit)).find((one) => one !== null) ?? null;
  const name = first(title, 500);
  const active = valueAt(payload, "object_attributes", "active");
  return sections(
    `# ${plainLine(kind)}${name ? `: ${plainLine(name)}` : ""}`,
    factList([
      ["Action", action ?? stringAt(payload, ["event_name"], 100)],
      ["Project", stringAt(payload, ["project", "path_with_namespace"], 300) ?? stringAt(payload, ["project_name"], 300)],
      ...facts.map(([label, ...paths]) => [label, first(paths)] as const),
      ["Failure", failureOf(payload)],
      ["Active", typeof active === "boolean" ? String(active) : null],
    ]),
    failedJobs(payload),
    commits(payload),
    stripMarker(first(body, maxTextLength) ?? ""),
  );
}

/** A job names a reason even if it has not failed. */
function failureOf(payload: unknown): string | null {
  const name = valueAt(payload, "build_status") === undefined ? "job" : "build";
  return valueAt(payload, `${name}_status`) === "failed" ? stringAt(payload, [`${name}_failure_reason`], 200) : null;
}

/** The jobs of a pipeline that failed. */
function failedJobs(payload: unknown): string {
  const jobs = valueAt(payload, "builds");
  if (!Array.isArray(jobs)) return "";
  const failed = jobs
    .slice(0, 500)
    .filter((job) => valueAt(job, "status") === "failed")
    .slice(0, 50)
    .map((job) => {
      const [name, stage, failureReason] = ["name", "stage", "failure_reason"].map((member) => stringAt(job, [member], 200));
      return `- ${plainLine(`${name ?? "?"}${stage ? ` (${stage})` : ""}${failureReason ? `: ${failureReason}` : ""}`)}`;
    });
  return failed.length > 0 ? `## Failed jobs\n\n${failed.join("\n")}` : "";
}

function commits(payload: unknown): string {
  const all = valueAt(payload, "commits");
  if (!Array.isArray(all) || all.length === 0) return "";
  const lines = all.slice(0, maxCommits).map((one) => {
    const title = stringAt(one, ["message"], 200)?.split("\n")[0] ?? "";
    return `- ${stringAt(one, ["id"], 12) ?? "?"} ${plainLine(title)}`;
  });
  const count = valueAt(payload, "total_commits_count");
  const left = (typeof count === "number" ? count : all.length) - lines.length;
  return `## Commits\n\n${lines.join("\n")}${left > 0 ? `\n- and ${left} more` : ""}`;
}
