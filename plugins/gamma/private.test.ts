import type { Json, NewComment } from "@signalbox/sdk";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import gamma from "./index.ts";
import { GammaTracker } from "./test-tracker.ts";

const internal = { key: "sd.public.comment", value: { internal: true } };

describe("what is private is answered privately", () => {
  let tracker: GammaTracker;
  beforeEach(async () => {
    tracker = new GammaTracker().intercept("http://gamma.test", { http, setupServer });
    tracker.addIssue("APP-12", "2026-01-02T03:04:05.678Z");
  });
  afterEach(() => tracker.close());

  const opened = async () => {
    const { sources, tools } = await setUpPlugin(gamma);
    const source = sources?.gamma;
    const add = tools?.add_comment;
    if (!source || !add) throw new Error("gamma has no source or no add_comment");
    const connection = source.connection.parse({ url: tracker.url, email: "bot@example.com", api_token: "t", is_cloud: true });
    return { source, add, connection };
  };
  const sent = () => tracker.requests.filter(({ method }) => method === "POST").map(({ body }) => body);

  async function answerTo(comment: Record<string, Json>) {
    const { source, connection } = await opened();
    const payload = {
      webhookEvent: "comment_created",
      comment: { id: "5", author: { accountId: "5b10-ann" }, body: "Hi", ...comment },
      issue: { key: "APP-12" },
    };
    const { subject, private: hidden, thread } = await source.parse({ headers: {}, payload });
    const post = { subject, body: "Answer", private: hidden, thread } as NewComment;
    return source.deliver(post, callContext(connection));
  }

  test("an internal note gets an internal comment", async () => {
    await answerTo({ jsdPublic: false });
    expect(sent()).toEqual([expect.objectContaining({ properties: [expect.anything(), internal] })]);
  });

  test("a note that its property makes internal too", async () => {
    await answerTo({ properties: [internal] });
    expect(sent()).toEqual([expect.objectContaining({ properties: [expect.anything(), internal] })]);
  });

  test("a comment for a role or a group is answered to that role or group", async () => {
    await answerTo({ visibility: { type: "role", value: "Administrators", identifier: "Administrators" } });
    await answerTo({ visibility: { type: "group", value: "staff", identifier: "1a2b" } });
    expect(sent()).toEqual([
      expect.objectContaining({ visibility: { type: "role", value: "Administrators" } }),
      expect.objectContaining({ visibility: { type: "group", identifier: "1a2b" } }),
    ]);
  });

  test("a restriction that cannot be read is not answered", async () => {
    await expect(answerTo({ visibility: { type: "club", value: "x" } })).rejects.toMatchObject({ code: "unsupported" });
    expect(sent()).toEqual([]);
  });

  test("everything else is answered as before", async () => {
    await answerTo({ jsdPublic: true });
    expect(sent()).toEqual([{ body: expect.anything(), properties: [expect.objectContaining({ key: "signalbox" })] }]);
  });

  test("a tool comments privately in service projects only", async () => {
    const { add, connection } = await opened();
    const use = { ...callContext(connection), private: true };
    await expect(add.run({ issue: "APP-12", body: "x" }, use)).rejects.toMatchObject({ code: "unsupported" });
    expect(sent()).toEqual([]);
    Object.assign(tracker.issues[0]?.fields ?? {}, { project: { key: "APP", projectTypeKey: "service_desk" } });
    await add.run({ issue: "APP-12", body: "x" }, use);
    expect(sent()).toEqual([expect.objectContaining({ properties: [expect.anything(), internal] })]);
  });

  /** `isPrivate`: as a run calls it; `undefined`: as an operator does. */
  async function read(key: string, isPrivate?: boolean): Promise<string[]> {
    const { connection } = await opened();
    const { tools } = await setUpPlugin(gamma);
    const tool = tools?.get_issue;
    if (!tool) throw new Error("gamma has no get_issue");
    const call = { ...callContext(connection), ...(isPrivate !== undefined && { private: isPrivate }) };
    const found = (await tool.run(tool.input.parse({ issue: key }), call)) as { comments: { body: string }[] };
    return found.comments.map(({ body }) => body);
  }
  const said = (text: string) => ({
    type: "doc",
    version: 1,
    content: [{ type: "paragraph", content: [{ type: "text", text }] }],
  });

  test("a run whose answer is public reads no internal and no restricted comments", async () => {
    tracker.comment("APP-12", said("For all."));
    tracker.comment("APP-12", said("A property."), tracker.ann, [internal]);
    Object.assign(tracker.comment("APP-12", said("A customer must not see it.")), { jsdPublic: false });
    Object.assign(tracker.comment("APP-12", said("For developers.")), { visibility: { type: "role", value: "Developers" } });
    expect(await read("APP-12", false)).toEqual(["For all."]);
    expect(await read("APP-12", true)).toHaveLength(4);
    expect(await read("APP-12")).toHaveLength(4);
  });

  test("a run whose answer is public reads no issue with a security level", async () => {
    tracker.addIssue("APP-13", "2026-01-02T03:04:05.678Z", { security: { id: "1", name: "Staff" } });
    await expect(read("APP-13", false)).rejects.toMatchObject({ code: "unsupported" });
    await expect(read("APP-13", true)).resolves.toEqual([]);
  });
});
