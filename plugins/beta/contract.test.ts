import { type ApiContract, callContext, contractViolations, type RecordedRequest, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import beta from "./index.ts";
import { BetaTracker } from "./test-tracker.ts";

const text = { type: "string" };
const one = (...words: string[]) => ({ type: "string", enum: words });
const number = { type: "integer" };
const path = (...names: string[]) =>
  names.map((name) => ({ name, in: "path", required: true, schema: name === "id" ? text : { type: "integer" } }));
const query = (members: Record<string, object>) =>
  Object.entries(members).map(([name, schema]) => ({ name, in: "query", schema }));
const body = (properties: Record<string, object>, required: string[] = []) => ({
  content: { "application/json": { schema: { type: "object", properties, required } } },
});
/** https://docs.gitlab.com/api/rest/#pagination */
const paging = { page: number, per_page: { type: "integer", minimum: 1, maximum: 100 } };

/** https://docs.gitlab.com/api/notes/#list-project-issue-notes, #create-new-issue-note, and the same of merge requests */
const notes = (iid: string) => ({
  get: {
    parameters: [
      ...path("id", iid),
      ...query({ ...paging, sort: one("asc", "desc"), order_by: one("created_at", "updated_at") }),
    ],
  },
  post: {
    parameters: path("id", iid),
    requestBody: body({ body: text, internal: { type: "boolean" }, created_at: text }, ["body"]),
  },
});
/** https://docs.gitlab.com/api/notes/#modify-existing-issue-note, and the same of merge requests */
const note = (iid: string) => ({ put: { parameters: path("id", iid, "note_id"), requestBody: body({ body: text }, ["body"]) } });
/** https://docs.gitlab.com/api/emoji_reactions/#list-all-emoji-reactions-for-a-comment, #add-an-emoji-reaction-to-a-comment */
const awards = (iid: string) => ({
  get: { parameters: [...path("id", iid, "note_id"), ...query(paging)] },
  post: { parameters: path("id", iid, "note_id"), requestBody: body({ name: text }, ["name"]) },
});
/** #delete-an-emoji-reaction-from-a-comment */
const award = (iid: string) => ({ delete: { parameters: path("id", iid, "note_id", "award_id") } });
/** https://docs.gitlab.com/api/resource_label_events/#list-project-issue-label-events, and the same of merge requests */
const labelEvents = (iid: string) => ({ get: { parameters: [...path("id", iid), ...query(paging)] } });
const listed = {
  ...paging,
  order_by: one("created_at", "updated_at"),
  sort: one("asc", "desc"),
  updated_after: { type: "string", format: "date-time" },
};

/** The requests that the plugin sends, as the platform documents them; there is no machine-readable description. */
const contract: ApiContract = {
  paths: {
    /** https://docs.gitlab.com/api/users/#get-the-current-user */
    "/user": { get: {} },
    /** https://docs.gitlab.com/api/personal_access_tokens/#self-inform */
    "/personal_access_tokens/self": { get: {} },
    /** https://docs.gitlab.com/api/issues/#list-project-issues */
    "/projects/{id}/issues": {
      get: { parameters: [...path("id"), ...query(listed)] },
      /** #create-an-issue */
      post: {
        parameters: path("id"),
        requestBody: body({ title: text, description: { type: "string", maxLength: 1_048_576 } }, ["title"]),
      },
    },
    /** https://docs.gitlab.com/api/issues/#single-project-issue, #edit-an-issue */
    "/projects/{id}/issues/{issue_iid}": {
      get: { parameters: path("id", "issue_iid") },
      put: {
        parameters: path("id", "issue_iid"),
        requestBody: body({
          description: { type: "string", maxLength: 1_048_576 },
          title: text,
          state_event: one("close", "reopen"),
        }),
      },
    },
    "/projects/{id}/issues/{issue_iid}/notes": notes("issue_iid"),
    "/projects/{id}/issues/{issue_iid}/notes/{note_id}": note("issue_iid"),
    "/projects/{id}/issues/{issue_iid}/notes/{note_id}/award_emoji": awards("issue_iid"),
    "/projects/{id}/issues/{issue_iid}/notes/{note_id}/award_emoji/{award_id}": award("issue_iid"),
    "/projects/{id}/issues/{issue_iid}/resource_label_events": labelEvents("issue_iid"),
    /** https://docs.gitlab.com/api/merge_requests/#list-project-merge-requests */
    "/projects/{id}/merge_requests": { get: { parameters: [...path("id"), ...query(listed)] } },
    /** https://docs.gitlab.com/api/merge_requests/#get-single-mr, #update-mr */
    "/projects/{id}/merge_requests/{merge_request_iid}": {
      get: { parameters: path("id", "merge_request_iid") },
      put: {
        parameters: path("id", "merge_request_iid"),
        requestBody: body({ description: { type: "string", maxLength: 1_048_576 }, title: text }),
      },
    },
    "/projects/{id}/merge_requests/{merge_request_iid}/notes": notes("merge_request_iid"),
    "/projects/{id}/merge_requests/{merge_request_iid}/notes/{note_id}": note("merge_request_iid"),
    "/projects/{id}/merge_requests/{merge_request_iid}/notes/{note_id}/award_emoji": awards("merge_request_iid"),
    "/projects/{id}/merge_requests/{merge_request_iid}/notes/{note_id}/award_emoji/{award_id}": award("merge_request_iid"),
    "/projects/{id}/merge_requests/{merge_request_iid}/resource_label_events": labelEvents("merge_request_iid"),
  },
};
const faultsOf = (request: RecordedRequest) => contractViolations(contract, request, "/api/v4");

describe("every request matches the platform's documentation", () => {
  let tracker: BetaTracker;
  beforeAll(async () => {
    tracker = new BetaTracker().intercept("http://beta.test", { http, setupServer });
    const now = new Date().toISOString();
    tracker.add("issues", 12, now, { user_notes_count: 1 });
    tracker.add("merge_requests", 7, now, { user_notes_count: 1 });
    for (let count = 0; count < 120; count++) tracker.note("issues/12", `Note ${count}`, now, "ann");
  });
  afterAll(() => tracker.close());

  test("for all methods and tools", async () => {
    const { sources, tools } = await setUpPlugin(beta);
    const source = sources?.beta;
    if (!source?.poll || !tools) throw new Error("beta has no source, no poll or no tools");
    const connection = source.connection.parse({ token: "test-token-1", url: tracker.url });
    await source.account(callContext(connection));
    tracker.limits = { "ratelimit-limit": "2000", "ratelimit-remaining": "1999", "ratelimit-reset": "1767225600" };
    const rate_limit = { remaining: 1999, limit: 2000, resets_at: "2026-01-01T00:00:00.000Z" };
    expect(await source.check(callContext(connection))).toEqual({ may_write: true, rate_limit });
    tracker.scopes = ["read_api"];
    expect(await source.check(callContext(connection))).toMatchObject({ may_write: false });
    tracker.scopes = null;
    expect(await source.check(callContext(connection))).toMatchObject({ may_write: null });
    const project = "octo/team/app";
    for (const issue of ["12", "!7"]) {
      const subject = { project, issue };
      const posted = await source.deliver({ subject, body: "Hello" }, callContext(connection));
      await source.update?.({ subject, body: "Hello again" }, posted, callContext(connection));
      for (const sign of ["working", "done"] as const)
        await source.react?.({ subject, comment: posted.id }, sign, callContext(connection));
      await source.find({ subject, body: "Hello" }, callContext(connection));
      await tools.add_comment?.run({ ...subject, body: "x" }, callContext(connection));
      await tools.update_description?.run({ ...subject, description: "x" }, callContext(connection));
      await tools.get_issue?.run(subject, callContext(connection));
    }
    const made = await source.createIssue?.({ project, title: "New", body: "/close" }, callContext(connection));
    await source.closeIssue?.({ project, key: made?.key ?? "" }, callContext(connection));
    await source.poll({ project, since: new Date(Date.now() - 60_000).toISOString(), cursor: null }, callContext(connection));
    const shortened = (path: string) =>
      path.replace("/api/v4/projects/octo%2Fteam%2Fapp", "").replace(/(notes|award_emoji)\/\d+/g, "$1/ID");
    const asked = new Set(tracker.requests.map(({ method, path }) => `${method} ${shortened(path)}`));
    expect([...asked].sort()).toEqual([
      "DELETE /issues/12/notes/ID/award_emoji/ID",
      "DELETE /merge_requests/7/notes/ID/award_emoji/ID",
      "GET /api/v4/personal_access_tokens/self",
      "GET /api/v4/user",
      "GET /issues",
      "GET /issues/12",
      "GET /issues/12/notes",
      "GET /issues/12/notes/ID/award_emoji",
      "GET /issues/12/resource_label_events",
      "GET /issues/13/resource_label_events",
      "GET /merge_requests",
      "GET /merge_requests/7",
      "GET /merge_requests/7/notes",
      "GET /merge_requests/7/notes/ID/award_emoji",
      "GET /merge_requests/7/resource_label_events",
      "POST /issues",
      "POST /issues/12/notes",
      "POST /issues/12/notes/ID/award_emoji",
      "POST /merge_requests/7/notes",
      "POST /merge_requests/7/notes/ID/award_emoji",
      "PUT /issues/12",
      "PUT /issues/12/notes/ID",
      "PUT /issues/13",
      "PUT /merge_requests/7",
      "PUT /merge_requests/7/notes/ID",
    ]);
    for (const request of tracker.requests) expect(faultsOf(request), `${request.method} ${request.path}`).toEqual([]);
  });

  test("a request that does not match is detected", () => {
    const request: RecordedRequest = {
      method: "POST",
      path: "/api/v4/projects/octo%2Fapp/issues/12/notes",
      query: new URLSearchParams(),
      headers: { "content-type": "application/json" },
      body: { body: "x" },
    };
    expect(faultsOf(request)).toEqual([]);
    expect(faultsOf({ ...request, body: { text: "x" } })).toHaveLength(2);
    expect(faultsOf({ ...request, path: "/api/v4/projects/octo/app/issues/12/notes" })).toHaveLength(1);
    expect(faultsOf({ ...request, path: "/api/v4/projects/77/issues/twelve/notes" })).toEqual(["issue_iid=twelve"]);
  });
});
