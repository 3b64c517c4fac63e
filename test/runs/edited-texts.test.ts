import { afterAll, beforeAll, expect, test } from "vitest";
import type { ChatRequest } from "../../examples/demo/chat.ts";
import { type Model, startModel } from "../../examples/demo/model.ts";
import {
  closeFour,
  type FourTrackers,
  fourEnv,
  newIssue,
  runOn,
  type Source,
  seedLook,
  sources,
  startFour,
} from "../harness/four-sources.ts";
import { deltaIssue, repo } from "../harness/payload-table.ts";
import { type Service, startService } from "../harness/service.ts";
import { roundsOf } from "../harness/world.ts";

let model: Model;
let service: Service;
let trackers: FourTrackers;
let read = "";
/** What a person does in the tracker while the agent works. */
let meanwhile = () => {};

/** Reads the issue, and answers after that. */
function script(request: ChatRequest) {
  const tool = request.tools?.map(({ function: { name } }) => name).find((name) => name.endsWith("__get_issue"));
  if (roundsOf(request) === 0) {
    meanwhile();
    return { tool_calls: [{ name: String(tool), arguments: { issue: /#(\S+?)\.?$/m.exec(aboutOf(request))?.[1] } }] };
  }
  read = String(request.messages.at(-1)?.content);
  return { content: "Done." };
}
const aboutOf = (request: ChatRequest) =>
  /This event is about (\S+)\./.exec(request.messages.map(({ content }) => content).join("\n"))?.[1] ?? "";

beforeAll(async () => {
  model = await startModel({ script });
  trackers = await startFour();
  service = await startService({ env: { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", ...fourEnv(trackers, "t") } });
  await seedLook(service);
}, 180_000);
afterAll(() => closeFour(trackers, model, service), 60_000);

const before = "2019-01-01T00:00:00.000Z";

/** Edits the description and adds a comment, like a person. */
const edits: Readonly<Record<Source, (n: number) => void>> = {
  alpha: (n) => {
    trackers.alpha.comment(repo, n, "A late comment.", "eve");
    Object.assign(trackers.alpha.issue(repo, n) ?? {}, { body: "Edited.", updatedAt: new Date().toISOString() });
  },
  beta: (n) => {
    trackers.beta.note(`issues/${n}`, "A late comment.", new Date().toISOString(), "eve");
    const item = trackers.beta.items.find(({ of }) => of === `issues/${n}`);
    Object.assign(item ?? {}, { description: "Edited.", updated_at: new Date().toISOString() });
  },
  gamma: (n) => {
    trackers.gamma.comment(`APP-${n}`, { type: "doc", version: 1, content: [] });
    const issue = trackers.gamma.issues.find(({ key }) => key === `APP-${n}`);
    Object.assign(issue?.fields ?? {}, { updated: new Date().toISOString() });
  },
  delta: (n) => {
    trackers.delta.note(deltaIssue(n), { comment_html: "<p>A late comment.</p>" });
  },
};

test.each(sources)("%s: get_issue says what was edited or written after the event", async (source) => {
  const issue = newIssue(trackers, source, 7, "Since Monday.", before);
  meanwhile = () => edits[source](7);
  expect(await runOn(service, source, issue)).toMatchObject({ state: "succeeded" });
  expect(read).toMatch(/"remark_of_signalbox":"Edited after the event that started this run/);
  expect(read).toMatch(/"remark_of_signalbox":"Written after the event that started this run/);

  const other = newIssue(trackers, source, 8, "Since Monday.", before);
  meanwhile = () => {};
  expect(await runOn(service, source, other)).toMatchObject({ state: "succeeded" });
  expect(read).toContain("updated_at");
  expect(read).not.toContain("remark_of_signalbox");
});
