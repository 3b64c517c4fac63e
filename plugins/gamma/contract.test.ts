import { readFileSync } from "node:fs";
import { type ApiContract, callContext, contractViolations, type RecordedRequest, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import gamma from "./index.ts";
import { GammaTracker } from "./test-tracker.ts";

const file = new URL("../../../shared/contracts/gamma.openapi.json", import.meta.url);

/**
 * The search that replaced the one in the contract, which Cloud has removed:
 * https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-search/#api-rest-api-3-search-jql-get
 */
const searchByToken = {
  get: {
    parameters: ["jql", "nextPageToken", "fields", "expand"]
      .map((name) => ({ name, in: "query", schema: { type: "string" } as object }))
      .concat({ name: "maxResults", in: "query", schema: { type: "integer" } }),
  },
};
/** https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-permissions/#api-rest-api-3-mypermissions-get */
const ownPermissions = {
  get: { parameters: [{ name: "permissions", in: "query", schema: { type: "string" } as object }] },
};

describe("every request matches the platform's contract", { tags: ["contracts"] }, () => {
  let tracker: GammaTracker;
  let contract: ApiContract;
  const faultsOf = (request: RecordedRequest) => contractViolations(contract, request);
  beforeAll(async () => {
    const read = JSON.parse(readFileSync(file, "utf8")) as ApiContract;
    const documented = { "/rest/api/3/search/jql": searchByToken, "/rest/api/3/mypermissions": ownPermissions };
    contract = { ...read, paths: { ...read.paths, ...documented } };
    tracker = new GammaTracker().intercept("http://gamma.test", { http, setupServer });
    tracker.addIssue("APP-12", new Date().toISOString());
    for (let count = 0; count < 120; count++) tracker.comment("APP-12", { type: "doc", version: 1, content: [] });
  });
  afterAll(() => tracker.close());

  test("for all methods and tools", async () => {
    const { sources, tools } = await setUpPlugin(gamma);
    const source = sources?.gamma;
    if (!source?.poll || !tools) throw new Error("gamma has no source, no poll or no tools");
    const connection = source.connection.parse({ url: tracker.url, email: "a@example.com", api_token: "t", is_cloud: "true" });
    const subject = { project: "APP", issue: "APP-12" };
    await source.account(callContext(connection));
    expect(await source.check(callContext(connection))).toEqual({ may_write: true, rate_limit: null });
    tracker.mayComment = false;
    expect(await source.check(callContext(connection))).toMatchObject({ may_write: false });
    const posted = await source.deliver({ subject, body: "# Hello\n\n- a\n\n|a|b|\n|-|-|\n|1|2|" }, callContext(connection));
    await source.update?.({ subject, body: "Hello again" }, posted, callContext(connection));
    await source.find({ subject, body: "Hello" }, callContext(connection));
    const since = new Date(Date.now() - 60_000).toISOString();
    const made = await source.createIssue?.({ project: "app", title: "New", body: "- a" }, callContext(connection));
    await source.closeIssue?.({ project: "APP", key: made?.key ?? "" }, callContext(connection));
    await source.poll({ project: "APP", since, cursor: null }, callContext(connection));
    tracker.searchPath = "/search";
    await source.poll({ project: "APP", since, cursor: null }, callContext(connection));
    const at = { issue: "APP-12" };
    await tools.add_comment?.run({ ...at, body: "x" }, callContext(connection));
    await tools.update_description?.run({ ...at, description: "x" }, callContext(connection));
    await tools.get_issue?.run(at, callContext(connection));
    await tools.transition_issue?.run({ ...at, transition: "Done" }, callContext(connection));
    await tools.transition_issue?.find?.({ ...at, transition: "Done" }, callContext(connection));
    const asked = new Set(tracker.requests.map((request) => `${request.method} ${request.path}`));
    expect([...asked].sort()).toEqual([
      "GET /rest/api/3/issue/APP-12",
      "GET /rest/api/3/issue/APP-12/comment",
      "GET /rest/api/3/issue/APP-12/transitions",
      "GET /rest/api/3/issue/APP-13",
      "GET /rest/api/3/issue/APP-13/comment",
      "GET /rest/api/3/issue/APP-13/transitions",
      "GET /rest/api/3/mypermissions",
      "GET /rest/api/3/myself",
      "GET /rest/api/3/project/APP",
      "GET /rest/api/3/search",
      "GET /rest/api/3/search/jql",
      "POST /rest/api/3/issue",
      "POST /rest/api/3/issue/APP-12/comment",
      "POST /rest/api/3/issue/APP-12/transitions",
      "POST /rest/api/3/issue/APP-13/transitions",
      "PUT /rest/api/3/issue/APP-12",
      `PUT /rest/api/3/issue/APP-12/comment/${posted.id}`,
    ]);
    for (const request of tracker.requests) expect(faultsOf(request), `${request.method} ${request.path}`).toEqual([]);
  });

  test("a request that does not match is detected", () => {
    const request: RecordedRequest = {
      method: "POST",
      path: "/rest/api/3/issue/APP-12/comment",
      query: new URLSearchParams(),
      headers: { "content-type": "application/json" },
      body: { body: { type: "doc" }, properties: [{ key: "k", value: 1 }] },
    };
    expect(faultsOf(request)).toEqual([]);
    expect(faultsOf({ ...request, body: { body: 1, properties: [{ key: "k", other: 1 }] } })).toHaveLength(1);
    expect(faultsOf({ ...request, body: { id: "1" } })).toEqual(["body member id is read-only"]);
    expect(faultsOf({ ...request, path: "/rest/api/3/issues/APP-12/comment" })).toHaveLength(1);
    expect(faultsOf({ ...request, query: new URLSearchParams("draft=1") })).toHaveLength(1);
    expect(faultsOf({ ...request, method: "GET", body: undefined, query: new URLSearchParams("orderBy=updated") })).toEqual([
      "orderBy=updated",
    ]);
  });
});
