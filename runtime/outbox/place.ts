/** An issue as its platform names it; `null`: the member is missing. */
export interface Place {
  readonly project: string | null;
  readonly issue: string | null;
}

/**
 * The issue that the arguments of a call name, in a normal form. Recognises URLs, another case, `owner/repo#12`, `#12`, spaces
 * and encoded slashes. An unreadable spelling becomes a name that no issue has.
 */
export function placeOf(
  source: string,
  { issue, project }: { readonly issue?: unknown; readonly project?: unknown },
  hosts: readonly string[],
): Place {
  const inIssue = issue === undefined || issue === null || issue === "" ? noPlace : readIssue(String(issue), hosts);
  const inProject = project === undefined || project === null || project === "" ? null : readProject(String(project), hosts);
  const namedProject = inIssue.project ?? inProject;
  const number = inIssue.issue;
  if (source !== "gamma" || number === null) return { project: namedProject, issue: number };
  // Jira's keys contain the project.
  const key = /^([a-z][a-z0-9_]{0,99})-(\d+)$/.exec(number);
  if (key) return { project: key[1] as string, issue: number };
  return { project: namedProject, issue: namedProject !== null && /^\d+$/.test(number) ? `${namedProject}-${number}` : number };
}

const noPlace: Place = { project: null, issue: null };

function readIssue(value: string, hosts: readonly string[]): Place {
  const text = tidy(value);
  if (/^https?:\/\//i.test(text)) return readUrl(text, hosts);
  const whole = /^([^#!\s]+)([#!])(\d{1,15})$/.exec(text);
  if (whole) return { project: pathOf(whole[1] as string), issue: issueNumber(whole[2] as string, whole[3] as string) };
  const short = /^(?:issue\s*)?([#!])?(\d{1,15})$/i.exec(text);
  if (short) return { project: null, issue: issueNumber(short[1] ?? "#", short[2] as string) };
  return { project: null, issue: text.replace(/^#/, "").toLowerCase() };
}

/** GitLab numbers issues and merge requests separately. */
const issueNumber = (sign: string, number: string): string => `${sign === "!" ? "!" : ""}${number.replace(/^0+(?=\d)/, "")}`;

function readProject(value: string, hosts: readonly string[]): string {
  const text = tidy(value);
  return /^https?:\/\//i.test(text) ? (readUrl(text, hosts).project ?? text) : pathOf(text);
}

const tidy = (text: string): string => {
  const plain = text.normalize("NFKC").trim();
  try {
    return /%[0-9a-f]{2}/i.test(plain) ? decodeURIComponent(plain).trim() : plain;
  } catch {
    return plain;
  }
};
const pathOf = (text: string): string =>
  text
    .replace(/^\/+|\/+$/g, "")
    .replace(/\.git$/i, "")
    .toLowerCase();

/** The URL formats of issues and projects at the platforms, on the web and in their APIs. */
const issueUrls: readonly RegExp[] = [
  /^\/(?<project>.+?)(?:\/-)?\/(?:issues|work_items|pull|pulls)\/(?<issue>[\w-]+)$/,
  /^\/(?<project>.+?)(?:\/-)?\/merge_requests\/(?<merge>\d+)$/,
];
const keyUrl = /\/(?:browse|issue|issues)\/(?<key>[A-Za-z][A-Za-z0-9_]*-\d+)$/;

function readUrl(text: string, hosts: readonly string[]): Place {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return { project: text.toLowerCase(), issue: text.toLowerCase() };
  }
  if (!hosts.includes(url.hostname) || url.username !== "") return { project: text.toLowerCase(), issue: text.toLowerCase() };
  const path = tidy(url.pathname).replace(/\/+$/, "");
  const key = keyUrl.exec(path)?.groups?.key ?? url.searchParams.get("selectedIssue");
  if (key) return { project: null, issue: key.toLowerCase() };
  for (const pattern of issueUrls) {
    const { project = "", issue, merge } = pattern.exec(path)?.groups ?? {};
    if (issue ?? merge) return { project: projectPath(project), issue: merge ? `!${merge}` : (issue as string).toLowerCase() };
  }
  return { project: projectPath(path), issue: null };
}

/** The project in an API path, without its prefix: `/repos/octo/app`, `/api/v4/projects/12`, `/workspaces/team/projects/<id>`. */
const projectPath = (path: string): string =>
  pathOf(path.replace(/^\/?(?:api\/v\d\/)?(?:repos\/|projects\/|(?:workspaces\/)?[\w.-]+\/projects\/(?=[0-9a-f-]{36}))/i, ""));
