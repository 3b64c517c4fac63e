import { readFileSync } from "node:fs";
import { type ApiContract, callContext, contractViolations, type RecordedRequest, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import delta from "./index.ts";
import { DeltaTracker, issue, labels, people, project, states, workspace } from "./test-tracker.ts";

const file = new URL("../../../shared/contracts/delta.openapi.json", import.meta.url);

/** Paging parameters of every list, absent from the contract: https://developers.plane.so/api-reference/introduction#pagination */
const paging = ["per_page", "cursor"];
/** https://developers.plane.so/api-reference/issue/list-issues */
const order = ["order_by"];
/** Absent from the contract: https://developers.plane.so/api-reference/user/get-current-user */
const documented = {
  "/users/me/": { get: {} },
  // https://developers.plane.so/api-reference/members/get-workspace-members
  "/workspaces/{slug}/members/": { get: { parameters: [{ name: "slug", in: "path", schema: { type: "string" } }] } },
};

describe("every request matches the platform's contract", { tags: ["contracts"] }, () => {
  let tracker: DeltaTracker;
  let contract: ApiContract;
  const faultsOf = (request: RecordedRequest) => {
    const list = request.method === "GET" && /\/(projects|issues|comments|activities|states|labels)\/$/.test(request.path);
    const query = new URLSearchParams(request.query);
    if (list) for (const name of [...paging, ...(request.path.endsWith("/issues/") ? order : [])]) query.delete(name);
    return contractViolations(contract, { ...request, query }, "/api/v1");
  };
  beforeAll(async () => {
    const read = JSON.parse(readFileSync(file, "utf8")) as ApiContract;
    contract = { ...read, paths: { ...read.paths, ...documented } };
    tracker = new DeltaTracker().intercept("http://delta.test", { http, setupServer });
    tracker.addIssue(issue, new Date().toISOString());
    for (let count = 0; count < 120; count++) tracker.note(issue, { comment_html: `<p>${count}</p>` });
  });
  afterAll(() => tracker.close());

  test("for all methods and tools", async () => {
    const { sources, tools } = await setUpPlugin(delta);
    const source = sources?.delta;
    if (!source?.poll || !tools) throw new Error("delta has no source, no poll or no tools");
    const connection = source.connection.parse({ api_url: tracker.url, api_key: "test-key-1", workspace_slug: workspace });
    await source.account(callContext(connection));
    await source.check(callContext(connection));
    for (const subject of [
      { project, issue },
      { project: "-", issue },
    ]) {
      const posted = await source.deliver({ subject, body: "Hello" }, callContext(connection));
      await source.update?.({ subject, body: "Hello again" }, posted, callContext(connection));
      await source.find({ subject, body: "Hello" }, callContext(connection));
    }
    await source.deliver({ subject: { project, issue }, body: "Hidden", private: true }, callContext(connection));
    expect(tracker.requests.at(-1)?.body).toMatchObject({ access: "INTERNAL" });
    const text = `state: ${states.todo} → ${states.done}, label ${labels.bug}`;
    expect(await source.describe?.({ subject: { project: "-", issue }, text }, callContext(connection))).toEqual({
      subject: { project, issue },
      title: "Issue 0c6d",
      state: "todo",
      labels: [],
      author: "ann",
      url: `${tracker.url}/acme/projects/${project}/issues/${issue}`,
      names: { [states.todo]: "todo", [states.done]: "done", [labels.bug]: "bug" },
    });
    const ann = { id: people.ann, name: null, kind: "unknown", standing: "unknown" } as const;
    expect(await source.standing?.({ project, author: ann }, callContext(connection))).toBe("owner");
    const made = await source.createIssue?.({ project: "app", title: "New", body: "- a" }, callContext(connection));
    await source.closeIssue?.({ project, key: made?.key ?? "" }, callContext(connection));
    await source.poll({ project, since: new Date(Date.now() - 60_000).toISOString(), cursor: null }, callContext(connection));
    const at = { issue, project };
    await tools.add_comment?.run({ ...at, body: "x" }, callContext(connection));
    await tools.update_description?.run({ ...at, description: "x" }, callContext(connection));
    await tools.get_issue?.run(at, callContext(connection));
    const short = (path: string) =>
      path.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "ID").replace(`/api/v1/workspaces/${workspace}`, "");
    const asked = new Set(tracker.requests.map((request) => `${request.method} ${short(request.path)}`));
    expect([...asked].sort()).toEqual([
      "GET /api/v1/users/me/",
      "GET /members/",
      "GET /projects/",
      "GET /projects/ID/issues/",
      "GET /projects/ID/issues/ID/",
      "GET /projects/ID/issues/ID/activities/",
      "GET /projects/ID/issues/ID/comments/",
      "GET /projects/ID/labels/",
      "GET /projects/ID/states/",
      "PATCH /projects/ID/issues/ID/",
      "PATCH /projects/ID/issues/ID/comments/ID/",
      "POST /projects/ID/issues/",
      "POST /projects/ID/issues/ID/comments/",
    ]);
    for (const request of tracker.requests) expect(faultsOf(request), `${request.method} ${request.path}`).toEqual([]);
  });

  test("a request that does not match is detected", () => {
    const request: RecordedRequest = {
      method: "POST",
      path: `/api/v1/workspaces/acme/projects/${project}/issues/${issue}/comments/`,
      query: new URLSearchParams(),
      headers: { "content-type": "application/json" },
      body: { comment_html: "<p>x</p>", external_id: "x" },
    };
    expect(faultsOf(request)).toEqual([]);
    expect(faultsOf({ ...request, body: { comment_html: 1 } })).toHaveLength(1);
    expect(faultsOf({ ...request, body: { comment: "x" } })).toEqual(["body member comment is not in the contract"]);
    expect(faultsOf({ ...request, body: { id: issue } })).toEqual(["body member id is read-only"]);
    expect(faultsOf({ ...request, path: request.path.replace(issue, "12") })).toEqual(["issue_id=12"]);
    expect(faultsOf({ ...request, query: new URLSearchParams("per_page=1") })).toHaveLength(1);
  });
});
