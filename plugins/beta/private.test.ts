import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import beta from "./index.ts";
import { type BetaTracker, startTracker } from "./test-tracker.ts";

const time = "2026-01-02T03:04:05Z";

describe("what only members can read", () => {
  let tracker: BetaTracker;
  beforeEach(async () => {
    tracker = await startTracker();
    tracker.add("issues", 12, time);
    tracker.add("issues", 13, time, { confidential: true });
    tracker.note("issues/12", "Everyone reads this.", time, "ann");
    Object.assign(tracker.note("issues/12", "Only among us.", time, "ann"), { internal: true });
  });
  afterEach(() => tracker.close());

  /** `isPrivate`: as a run calls it; `undefined`: as an operator does. */
  async function call(name: "get_issue" | "update_description" | "add_comment", input: object, isPrivate?: boolean) {
    const { sources, tools } = await setUpPlugin(beta);
    const connection = sources?.beta?.connection.parse({ url: tracker.url, token: "test-token-1" });
    const tool = tools?.[name];
    if (!tool) throw new Error(`beta has no ${name}`);
    const context = { ...callContext(connection), ...(isPrivate !== undefined && { private: isPrivate }) };
    return tool.run(tool.input.parse({ project: "octo/team/app", ...input }), context);
  }
  const commentsRead = async (isPrivate?: boolean) => {
    const read = (await call("get_issue", { issue: 12 }, isPrivate)) as { comments: { body: string }[] };
    return read.comments.map(({ body }) => body);
  };

  test("a run whose answer is public reads no internal notes", async () => {
    expect(await commentsRead(false)).toEqual(["Everyone reads this."]);
    expect(await commentsRead(true)).toHaveLength(2);
    expect(await commentsRead()).toHaveLength(2);
  });

  test("a run whose answer is public reads no confidential issue", async () => {
    await expect(call("get_issue", { issue: 13 }, false)).rejects.toMatchObject({ code: "unsupported" });
    await expect(call("get_issue", { issue: 13 }, true)).resolves.toMatchObject({ issue: "13" });
    await expect(call("get_issue", { issue: 13 })).resolves.toMatchObject({ issue: "13" });
  });

  test("a run about something private changes the description of a confidential issue only, and comments internally", async () => {
    const told = { description: "What was said internally." };
    await expect(call("update_description", { issue: 12, ...told }, true)).rejects.toMatchObject({ code: "unsupported" });
    await expect(call("update_description", { issue: 13, ...told }, true)).resolves.toMatchObject({ issue: "13" });
    await call("add_comment", { issue: 12, body: "An answer." }, true);
    expect(tracker.notes.at(-1)).toMatchObject({ of: "issues/12", internal: true });
  });
});
