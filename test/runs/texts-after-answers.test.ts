import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChatRequest, Reply } from "../../examples/demo/chat.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { issueOf, startWorld, textsOf, type World } from "../harness/world.ts";

// A post is stored without the answer that it begins with, so what follows the answer decides how it is stored.

const repo = "octo/app";
const answer = "The order total is wrong after a reload, because the discount is applied twice. ".repeat(8).trim();
const publicUrl = "https://signalbox.operations.example.com/internal-services/signalbox";

interface Execution {
  readonly id: string;
  readonly attempts: number;
  readonly proposals: readonly { readonly body: string | null }[];
  readonly transcript: readonly { readonly kind: string; readonly input: unknown; readonly unreadable?: string }[];
}

describe("a text after the answer", () => {
  let world: World;
  let issue = 0;
  /** Parts of the answer by issue, each but the last one cut off. */
  const parts = new Map<number, readonly string[]>();
  /** Number of the part that the request asks for. */
  const script = (request: ChatRequest): Reply => {
    const number = Number(issueOf(request).split("#")[1]);
    const asked = request.messages.filter(({ role }) => role === "assistant").length;
    const all = parts.get(number) ?? [answer];
    const message = { role: "assistant", content: all[asked] };
    return {
      raw: { model: "scripted", choices: [{ message, finish_reason: all[asked + 1] === undefined ? "stop" : "length" }] },
    };
  };
  beforeAll(async () => {
    const env = { COMMENT_FOOTER: "true", PUBLIC_URL: publicUrl };
    world = await startWorld({ tasks: ["first"], script, env });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const open = async (state: "waiting" | "succeeded", number = ++issue) => {
    const { body } = await world.service.webhook(issueOpened({ repo, number }));
    const [execution] = await waitForExecutions(world.service, { event_id: body.event_id, state });
    return String(execution?.id);
  };
  const read = async (id: string) => (await world.service.get<Execution>(`/api/task-executions/${id}`)).body;
  const postOf = async (id: string) => (await read(id)).transcript.find(({ kind }) => kind === "post");
  const comments = () => textsOf(world.tracker, repo, issue);
  /** The text of the post, which ends with the line that names the agent and the run. */
  const posted = (id: string, text: string) =>
    expect.stringMatching(
      new RegExp(`^${RegExp.escape(text)}\\n\\n<sub>[^<]*${RegExp.escape(`(${publicUrl}/console/run/${id})`)}</sub>$`),
    );

  test("a proposal shows its whole text, which is posted once it is approved", async () => {
    const put = (policy: object) => world.service.put("/api/agents/pm_default", { policy });
    expect((await put({ staged: true })).status).toBe(200);
    const id = await open("waiting");
    const [proposal] = (await read(id)).proposals;
    expect(proposal?.body).toEqual(posted(id, answer));
    expect((await world.service.post(`/api/task-executions/${id}/approve`)).status).toBe(200);
    await eventually(() => comments().length === 1, { timeout: 20_000 });
    expect(comments()).toEqual([proposal?.body]);
    expect(await postOf(id)).toMatchObject({ input: { body: proposal?.body } });
    expect((await put({ staged: false })).status).toBe(200);
  });

  test.each([
    ["short", [answer, " A short rest."]],
    ["long", [answer, ` ${"It is fixed by reading the stored total once more after each reload. ".repeat(9)}The end.`]],
  ])("after failed tries, an answer that was cut off is posted whole, with its %s rest", async (_, all) => {
    const number = ++issue;
    parts.set(number, all);
    world.tracker.fault({ method: "POST", path: `/issues/${number}/comments`, times: 3, status: 500 });
    const id = await open("succeeded", number);
    // The second attempt posts the text that the first one stored.
    expect((await read(id)).attempts).toBe(2);
    expect(comments()).toEqual([posted(id, all.join(""))]);
    expect(await postOf(id)).toMatchObject({ input: { body: comments()[0] } });
  });
});
