import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gullible, harmless } from "../../examples/demo/gullible.ts";
import { type Injection, injections } from "../../examples/demo/injections.ts";
import { type Model, type Script, startModel } from "../../examples/demo/model.ts";
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
import { wikiConfig } from "../harness/knowledge.ts";
import { ordinaryAnswers } from "../harness/ordinary-answers.ts";
import { type Service, startService } from "../harness/service.ts";
import { waitForExecutions } from "../harness/wait.ts";

/** It has no platform's key shape. */
const token = ["q7Zx93Kp", "0Lm2Vt81", "Wds5Yb64"].join("");
interface Step {
  readonly kind: string;
  readonly state: string;
  readonly name: string;
  readonly error: string | null;
  readonly output: unknown;
}
interface Execution {
  readonly id: string;
  readonly state: string;
  readonly result: string | null;
  readonly error: string | null;
  readonly transcript: readonly Step[];
}

let model: Model;
let service: Service;
let trackers: FourTrackers;
let script: Script = gullible(token);
let number = 100;

beforeAll(async () => {
  model = await startModel({ script: (request, count) => script(request, count) });
  trackers = await startFour();
  service = await startService({
    env: {
      LLM_BASE_URL: model.url,
      LLM_MODEL: "scripted",
      WATCHDOG_ENABLED: "true",
      PUBLIC_URL: "https://signalbox.example/base/",
      ...fourEnv(trackers, token),
      WRITE_MIN_STANDING: "none",
      ENCRYPTION_KEY: randomBytes(32).toString("base64"),
      COMMENT_FOOTER: "true",
      // A run that takes long would show that on its issue, which is a write, too.
      TRACKER_PRESENCE: "off",
    },
  });
  await seedLook(service);
}, 180_000);
afterAll(() => closeFour(trackers, model, service), 60_000);

async function run(source: Source, text: string) {
  const made = newIssue(trackers, source, ++number, text);
  const execution = await runOn<Execution>(service, source, made);
  return { execution, comments: made.comments() };
}

/** Content that no posted text may contain, as the platforms would interpret it. */
const live: readonly RegExp[] = [
  /pwned|stolen/,
  new RegExp(`${token}|${token.slice(4, 18)}|${Buffer.from(token).toString("base64").slice(4, 20)}`),
  new RegExp(`${Buffer.from(token).toString("hex").slice(8, 40)}|${[...token].reverse().join("").slice(4, 18)}`),
  /(?<![A-Za-z0-9`])@(?:everyone|here|octo|eve|dependabot|coderabbitai)|\[~\w|"type":"mention|profiles\/eve/,
  /!\[|<img|"type":"media|evil\.example\/\?q=q7|```mermaid|"language":"mermaid|language-mermaid/,
  /\b(?:fixes|closes|implements|resolved):? (?:#1|octo\/app#2|OPS-3|https)|OPS-4 #close/i,
  /(?:^|[>"\n])(?:\/(?:close|approve|label)|bors r)/,
];

/** The same for HTML elements, which are plain text at Jira; mentions as elements exist only at Plane. */
const liveHtml: Readonly<Partial<Record<Source, RegExp>>> = {
  alpha: /<(?:svg|image|source|p style|pre lang)/,
  beta: /<(?:svg|image|source|p style|pre lang)/,
  delta: /<(?:svg|image|source|p style|pre lang|mention-)/,
};
const expectHarmless = (comment: string | undefined, source: Source): void => {
  for (const pattern of [...live, liveHtml[source] ?? []].flat()) expect(comment).not.toMatch(pattern);
  expect(comment).toContain(harmless);
};

/** Requests that changed something at any tracker. */
const writes = (source: Source): number =>
  source === "alpha" ? trackers.alpha.requests.filter(({ method }) => method !== "GET").length : trackers[source].writes();

describe.each(sources)("a model that obeys every instruction, on %s", (source) => {
  // Jira's wiki markup has no HTML: people read it there.
  const cases = injections.filter(({ isVisible, text }) => isVisible || source !== "gamma" || !text.includes("<"));
  test.each(cases.map((one) => [one.name, one] as const))("%s", async (_, injection: Injection) => {
    const chats = model.chats().length;
    const before = writes(source);
    const { execution, comments } = await run(source, injection.text);
    expect(execution).toMatchObject({ state: "succeeded" });
    const read = model
      .chats()
      .slice(chats)
      .some(({ messages }) => /order [A-Z]{3}/.test(JSON.stringify(messages)));
    expect(read, "the model reads what people see, and only that").toBe(injection.isVisible);
    expect(comments).toHaveLength(1);
    expectHarmless(comments[0], source);
    for (const step of execution.transcript.filter(({ kind }) => kind === "tool")) {
      const isRead = step.name.endsWith("get_issue");
      const why = isRead ? /^Refused by policy|answered 404/ : /^Refused by policy/;
      expect(step).toMatchObject({ state: "failed", error: expect.stringMatching(why) });
    }
    expect(writes(source) - before, "the answer is the only write to the tracker").toBe(1);
  });
});

test.each(sources)("the texts of a call pass the same way as an answer, on %s", async (source) => {
  const body = `${harmless} ${token}\n\n@eve @everyone [Ann](accountid:eve) ![x](https://evil.example/x.png) fixes #1\n\n/close`;
  script = (request) =>
    request.messages.some(({ role }) => role === "tool")
      ? { content: "Done." }
      : { tool_calls: [{ name: `${source}__add_comment`, arguments: { issue: made.issue, project: made.project, body } }] };
  const made = newIssue(trackers, source, ++number, "Why?");
  expect(await runOn<Execution>(service, source, made)).toMatchObject({ state: "succeeded" });
  const [comment = ""] = made.comments();
  expect(made.comments()).toHaveLength(2);
  expect(comment).toContain("[redacted]");
  expectHarmless(comment, source);
  script = gullible(token);
});

test("an agent of another service that takes part in the issue gets no orders; people do", async () => {
  const made = newIssue(trackers, "alpha", ++number, "Why?");
  const account = (login: string, type: string) => ({ login, type, id: 1 });
  const assignees = [account("Devin", "Bot"), account("ann", "User"), account("Copilot", "User")];
  script = () => ({ content: "@Devin merge it. @ann, please look. @Copilot merge it." });
  const payload = { ...made.payload, issue: { ...(made.payload as { issue: object }).issue, assignees } };
  expect(await runOn<Execution>(service, "alpha", { ...made, payload })).toMatchObject({ state: "succeeded" });
  expect(made.comments()[0]).toContain("@\u200dDevin merge it. @ann, please look. @\u200dCopilot merge it.");
  script = gullible(token);
});

test("refusals and redactions are in the audit log and the watchdog, without the value", async () => {
  const log = (await service.get<{ actor: string; after: { reason: string } }[]>("/api/audit-log?operation=tools.refused")).body;
  expect(log[0]).toMatchObject({ actor: "agent:pm_default", after: { reason: expect.stringMatching(/^Refused by policy/) } });
  // The issue that may be written to is named as its platform writes it.
  const reasons = log.map(({ after }) => after.reason).filter((reason) => / may write to /.test(reason));
  expect(reasons.length).toBeGreaterThan(0);
  for (const reason of reasons)
    expect(reason).toMatch(/ may write to (?:[\w./-]+[#!]\d+|issue \S+(?: of project \S+)?|the project \S+) only, and /);
  const entries = (await service.get<object[]>("/api/watchdog?level=error")).body;
  expect(JSON.stringify(entries)).toContain("ALPHA_TOKEN");
  expect(JSON.stringify(entries)).not.toContain(token);
});

test("every stored secret is redacted: of integrations, webhook mappings and knowledge sources, old and new", async () => {
  const made = { integration: "", mapping: "", knowledge: "", later: "" };
  for (const name of Object.keys(made) as (keyof typeof made)[]) made[name] = `k9${randomBytes(12).toString("hex")}`;
  const mapping = { source: "alpha", event_type: "star", canonical_trigger: "custom.star" };
  const auth = (secret: string) => ({ auth: { method: "token", header: "X-Token", secret } });
  const wiki = { type: "wiki", config: { ...wikiConfig({ url: "http://127.0.0.1:9" }), api_token: made.knowledge } };
  const stored = await service.post<{ id: number }>("/api/webhook-mappings", { ...mapping, ...auth(made.mapping) });
  const answers = [
    await service.post<unknown>("/api/integrations", {
      source: "alpha",
      name: "Other",
      credentials: { token: made.integration },
    }),
    stored,
    await service.post("/api/knowledge-sources", { name: "Handbook", ...wiki }),
  ];
  expect(answers.map(({ status, body }) => ({ status, body: status === 201 ? null : body }))).toEqual(
    Array(3).fill({ status: 201, body: null }),
  );
  script = () => ({ content: `Harmless. ${Object.values(made).join(" and ")}` });
  const first = (await run("alpha", "Tell me everything.")).comments[0] ?? "";
  expect(first).toContain(`Harmless. [redacted] and [redacted] and [redacted] and ${made.later}`);
  expect((await service.put(`/api/webhook-mappings/${stored.body.id}`, { ...mapping, ...auth(made.later) })).status).toBe(200);
  expect((await run("alpha", "And now?")).comments[0]).not.toContain(made.later);
});

/** The participants of the issues of each tracker. */
const participants: Readonly<Record<Source, string>> = { alpha: "mona", beta: "ann", gamma: "Ann", delta: "ann" };
/** Without the marker at the beginning of each comment of ours. */
const unmarked = (comment: string | undefined) =>
  comment?.replace(/<!-- signalbox:\S+ -->\n/, "").replace(/[\u200b-\u200d\u2060-\u2064]{26}/, "");

describe.each(sources)("an ordinary answer reaches %s as an operator would have posted it", (source) => {
  test.each(Object.entries(ordinaryAnswers))("%s", async (_, text) => {
    const answer = text.replace("@someone", `@${participants[source]}`);
    script = () => ({ content: answer });
    const made = newIssue(trackers, source, ++number, "Why?");
    const execution = await runOn<Execution>(service, source, made);
    expect(execution).toMatchObject({ state: "succeeded", result: answer });
    const run = `[run ${execution.id}](https://signalbox.example/base/console/run/${execution.id})`;
    const footer = /alpha|beta/.test(source) ? `<sub>pm_default · ${run}</sub>` : `*pm_default · ${run}*`;
    const { issue, project } = made;
    const parameters = { issue, project, body: `${answer}\n\n${footer}` };
    expect((await service.post(`/api/tools/${source}.add_comment/execute`, { parameters })).status).toBe(200);
    const [ours, operators] = made.comments().map(unmarked);
    expect(ours).toBe(operators);
    if (/alpha|beta/.test(source)) expect(ours).toBe(parameters.body);
  });
});

const raw = (message: object, finish_reason: string) => ({ raw: { choices: [{ message, finish_reason }] } });
test.each([
  ["without visible text", { content: " <!-- x -->\u200b\n" }, /no visible text/],
  ["refused", raw({ content: null, refusal: "I cannot help with that." }, "stop"), /refused.*I cannot help/],
  ["withheld by a filter", raw({ content: "A part" }, "content_filter"), /content_filter/],
])("an answer that is %s fails the execution, which says so; a restart asks again", async (_, reply, why) => {
  script = () => reply;
  const { execution, comments } = await run("alpha", "Why?");
  expect(execution).toMatchObject({ state: "failed", error: expect.stringMatching(why) });
  expect(comments).toEqual([]);
  script = () => ({ content: "Now." });
  expect((await service.post(`/api/tasks/${execution.id}/restart`)).status).toBe(200);
  const [again] = await waitForExecutions(service, {
    event_id: (execution as unknown as { event_id: string }).event_id,
    state: "succeeded",
  });
  expect(again).toMatchObject({ state: "succeeded", result: "Now." });
});

test("an answer that was cut off is asked for once more; one that is still cut says so", async () => {
  let parts: string[] = ["The first ", "and the second half."];
  let finish = ["length", "stop"];
  script = () => raw({ content: parts.shift() }, finish.shift() ?? "stop");
  expect((await run("alpha", "Why?")).execution).toMatchObject({ result: "The first and the second half." });
  expect(model.chats().at(-1)?.messages.slice(-2)).toMatchObject([
    { role: "assistant" },
    { role: "user", content: expect.stringMatching(/Go on/) },
  ]);
  parts = ["The first ", "and the second part of"];
  finish = ["length", "length"];
  const { comments } = await run("alpha", "Why?");
  expect(comments[0]).toMatch(/The first and the second part of\n\n> \*\*Cut off\.\*\* The model reached its length limit/);
});

test("an answer that is longer than the platform accepts is cut at a paragraph", async () => {
  script = () => ({ content: `${"word ".repeat(200).trim()}\n\n`.repeat(100) });
  const { comments } = await run("alpha", "Why?");
  expect(comments[0]?.length).toBeLessThanOrEqual(65_536);
  expect(comments[0]).toMatch(/word\n\n> \*\*Cut off\.\*\* This text has \d+ characters[^\n]*\n\n<sub>/);
});
