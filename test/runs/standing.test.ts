import { afterAll, beforeAll, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import type { Script } from "../../examples/demo/model.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { waitForExecutions } from "../harness/wait.ts";
import { deliver } from "../harness/webhooks.ts";
import { plainScript, startWorld, type World, webhookSecret } from "../harness/world.ts";

const repo = "octo/standing";
let world: World;
let script: Script = plainScript;
let asked: ChatRequest[] = [];
beforeAll(async () => {
  world = await startWorld({
    tasks: ["answer"],
    script: (request, number) => {
      asked.push(request);
      return script(request, number);
    },
  });
}, 180_000);
afterAll(() => world?.[Symbol.asyncDispose]());

/** Runs the task for an issue by an author with this standing, with these calls in the first round. */
async function run(number: number, author_association: string, calls: { name: string; arguments: object }[]) {
  asked = [];
  script = (request) => (request.messages.some(({ role }) => role === "tool") ? { content: "Done." } : { tool_calls: calls });
  const payload = issueOpened({ repo, number }, { issue: { author_association } });
  const { body } = await deliver(world.service, payload, { secret: webhookSecret });
  const [execution] = await waitForExecutions(world.service, { event_id: body.event_id, count: 1 });
  const results = (asked[1]?.messages ?? []).filter(({ role }) => role === "tool").map(({ content }) => String(content));
  const offered = (asked[0] as unknown as { tools?: { function: { name: string } }[] }).tools ?? [];
  return { execution, results, offered: offered.map(({ function: { name } }) => name) };
}
const note = { name: "alpha__add_comment", arguments: { issue: "1", body: "A comment by a tool." } };
const read = (issue: number) => ({ name: "alpha__get_issue", arguments: { issue: String(issue) } });

test("a run for a stranger is offered tools that read, calls that write are refused, and its answer is posted", async () => {
  const { execution, results, offered } = await run(1, "NONE", [note, read(1)]);
  expect(execution).toMatchObject({ state: "succeeded", result: "Done." });
  expect(offered).toContain("alpha__get_issue");
  expect(offered).not.toContain("alpha__add_comment");
  expect(results[0]).toMatch(/standing none and WRITE_MIN_STANDING in the settings requires collaborator/);
  expect(results[1]).not.toMatch(/error/);
  expect(world.tracker.comments(repo, 1)).toHaveLength(1);
});

test("a member's run writes; the sixth call with the same arguments gets the earlier result", async () => {
  const { results, offered } = await run(2, "MEMBER", [...Array.from({ length: 7 }, () => read(2)), read(1)]);
  expect(offered).toContain("alpha__add_comment");
  expect(results).toHaveLength(8);
  expect(results.filter((text) => text.includes("You have this already"))).toEqual([results[5], results[6]]);
  const issue = /"title":"[^"]+"/.exec(results[0] ?? "")?.[0] ?? "no title";
  expect(results.slice(0, 7).every((text) => text.includes(issue))).toBe(true);
});
