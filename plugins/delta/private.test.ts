import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import delta from "./index.ts";
import { type DeltaTracker, issue, project, startTracker, workspace } from "./test-tracker.ts";

let tracker: DeltaTracker;
beforeEach(async () => {
  tracker = await startTracker();
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
