import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, expect, test } from "vitest";
import delta from "./index.ts";
import { DeltaTracker, issue, project, workspace } from "./test-tracker.ts";

let tracker: DeltaTracker;
beforeEach(async () => {
  tracker = new DeltaTracker().intercept("http://delta.test", { http, setupServer });
  tracker.addIssue(issue, new Date().toISOString());
});
afterEach(() => tracker.close());

/** Changes the description for a run about an internal comment. */
async function describePrivately(): Promise<unknown> {
  const { sources, tools } = await setUpPlugin(delta);
  const settings = { api_url: tracker.url, api_key: "test-key-1", workspace_slug: workspace };
  const call = { ...callContext(sources?.delta?.connection.parse(settings)), private: true };
  const tool = tools?.update_description;
  return tool?.run(tool.input.parse({ issue, project, description: "What was said internally." }), call);
}
const descriptions = () => tracker.requests.filter(({ method }) => method === "PATCH");

test("a run about an internal comment changes the description of a project without a public board", async () => {
  await expect(describePrivately()).resolves.toMatchObject({ issue });
  expect(descriptions()).toHaveLength(1);
});

test("it changes nothing that visitors of a public board would read", async () => {
  tracker.isPublished = true;
  await expect(describePrivately()).rejects.toMatchObject({ code: "unsupported" });
  expect(descriptions()).toEqual([]);
});

/** The comments that `get_issue` returns to a run whose answer is public or private, or to an operator. */
async function commentsRead(isPrivate?: boolean): Promise<string[]> {
  const { sources, tools } = await setUpPlugin(delta);
  const settings = { api_url: tracker.url, api_key: "test-key-1", workspace_slug: workspace };
  const context = callContext(sources?.delta?.connection.parse(settings));
  const tool = tools?.get_issue;
  const call = { ...context, ...(isPrivate !== undefined && { private: isPrivate }) };
  const read = (await tool?.run(tool.input.parse({ issue, project }), call)) as { comments: { body: string }[] };
  return read.comments.map(({ body }) => body);
}

test("a run whose answer visitors of a public board read gets no internal comments", async () => {
  tracker.note(issue, { comment_html: "<p>For visitors.</p>", access: "EXTERNAL" });
  tracker.note(issue, { comment_html: "<p>Among us.</p>", access: "INTERNAL" });
  expect(await commentsRead(false)).toHaveLength(2);
  tracker.isPublished = true;
  expect(await commentsRead(false)).toEqual(["For visitors."]);
  expect(await commentsRead(true)).toHaveLength(2);
  expect(await commentsRead()).toHaveLength(2);
});
