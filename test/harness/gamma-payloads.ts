import { type GammaIssue, gammaIssue, gammaIssueHook, gammaTime, gammaUser } from "../../examples/demo/gamma-payload.ts";

/**
 * Payloads in the platform's format, including members that are not read:
 * https://developer.atlassian.com/cloud/jira/platform/webhooks/
 */
const at = "2026-01-05T10:00:00.000Z";
const later = "2026-01-06T11:30:00.000Z";
const ann = gammaUser("5b10-ann", "Ann");

const about = (key: string, more: Partial<GammaIssue> = {}): GammaIssue => ({
  key,
  id: `10${key.replace(/\D/g, "")}`,
  summary: "Login fails",
  description: "It *fails* since\n\n# Monday",
  creator: ann,
  created: at,
  ...more,
});

export const issueCreated = (key: string) => gammaIssueHook("jira:issue_created", about(key));

/** A move from one status to another. */
export function issueMoved(key: string, from = "To Do", to = "In Progress") {
  const item = {
    field: "status",
    fieldtype: "jira",
    fieldId: "status",
    from: "10002",
    fromString: from,
    to: "10004",
    toString: to,
  };
  const rank = {
    field: "Rank",
    fieldtype: "custom",
    fieldId: "customfield_10019",
    from: "",
    fromString: "",
    to: "",
    toString: "Ranked higher",
  };
  const changelog = { id: "10124", items: [rank, item] };
  return gammaIssueHook("jira:issue_updated", about(key, { status: to, updated: later }), { changelog });
}

/** The issue of a comment has a short form. */
export function commentCreated(key: string, body = "Any *news* on this?") {
  const { id, self, fields } = gammaIssue(about(key));
  const { summary, issuetype, project, assignee, priority, status } = fields as Record<string, unknown>;
  const times = { created: gammaTime(later), updated: gammaTime(later) };
  const comment = {
    self: `https://acme.atlassian.net/rest/api/2/issue/${id}/comment/301`,
    id: "301",
    author: ann,
    body,
    updateAuthor: ann,
    ...times,
    jsdPublic: true,
  };
  const issue = { id, self, key, fields: { summary, issuetype, project, assignee: assignee ?? null, priority, status } };
  return { timestamp: Date.parse(later), webhookEvent: "comment_created", comment, issue, eventType: "primaryAction" };
}
