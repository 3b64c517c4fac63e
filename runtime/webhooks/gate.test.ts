import { type Policy, requiredStandings, standings } from "@signalbox/schema/policy";
import type { EventAuthor, Json, SourceEvent } from "@signalbox/sdk";
import fc from "fast-check";
import { expect, test } from "vitest";
import { idleStall, maxStallMs, repeat, repeatedStallOf } from "../platform/test-stall.ts";
import { effectivePolicy } from "../policy/effective.ts";
import { isBelow } from "../policy/standing.ts";
import { labelsIn, mentions } from "./conditions.ts";
import { refusalOf, verdictsOf } from "./gate.ts";
import { unreadableEvent } from "./parse.ts";

const author = (more: Partial<EventAuthor> = {}): EventAuthor => ({
  id: "7",
  name: "mallory",
  kind: "human",
  standing: "none",
  ...more,
});
const given = (from: EventAuthor | null, policy: Policy = {}, more: Partial<SourceEvent> = {}, conditions = {}) => ({
  event: { ...unreadableEvent, author: from, ...more },
  payload: null as Json,
  mapping: { canonical_trigger: "issue.created", task_id: "triage", conditions },
  policy: effectivePolicy({}, policy),
  trusted: false,
});

test("authors that the platform does not describe start runs; so do strangers by default", () => {
  expect(refusalOf(given(null, { trigger_min_standing: "owner" }))).toBeNull();
  expect(refusalOf(given(author({ kind: "unknown", standing: "unknown" }), { trigger_min_standing: "owner" }))).toBeNull();
  expect(refusalOf(given(author()))).toBeNull();
});

test("a bot or app must be named; the reason names the limit and its level", () => {
  for (const kind of ["bot", "app"] as const) {
    const bot = author({ kind, name: "renovate[bot]" });
    expect(refusalOf(given(bot))).toMatch(
      /renovate\[bot\] is an? (bot|app), and TRIGGER_ALLOWED_BOTS in the settings does not name it/,
    );
    expect(refusalOf(given(bot, { trigger_allowed_bots: ["dependabot"] }))).toMatch(/policy of the project/);
    for (const name of ["renovate", "Renovate[bot]", "*", "7"])
      expect(refusalOf(given(bot, { trigger_allowed_bots: [name] }))).toBeNull();
  }
});

test("property: a standing is refused exactly if it is known and lower than required", () => {
  fc.assert(
    fc.property(fc.constantFrom(...standings), fc.constantFrom(...requiredStandings), (standing, required) => {
      const isRefused = refusalOf(given(author({ standing }), { trigger_min_standing: required })) !== null;
      const rank = { owner: 5, member: 4, collaborator: 3, contributor: 2, none: 1, unknown: 9 };
      expect(isRefused).toBe(rank[standing] < rank[required]);
      expect(isBelow(standing, required)).toBe(isRefused);
      expect(refusalOf(given(author({ standing }), {}, {}, { min_standing: required })) !== null).toBe(isRefused);
      expect(
        refusalOf({ ...given(author({ standing, kind: "bot" }), { trigger_min_standing: required }), trusted: true }),
      ).toBeNull();
    }),
  );
});

test("conditions: all must hold, and each says why it does not", () => {
  const conditions = { mention: "@signalbox", label: "Agent", projects: ["acme/web"] };
  const event = { text: "Please, @SignalBox: look.", subject: { project: "Acme/Web", issue: "1" } };
  const payload = { issue: { labels: [{ name: "bug" }, { name: "agent" }] } };
  expect(refusalOf({ ...given(null, {}, event, conditions), payload })).toBeNull();
  expect(verdictsOf({ ...given(null, {}, event, conditions), payload }).map(({ check }) => check)).toEqual([
    "condition.mention",
    "condition.label",
    "condition.projects",
  ]);
  expect(refusalOf({ ...given(null, {}, { ...event, text: "signalbox" }, conditions), payload })).toMatch(
    /does not mention @signalbox, which the mapping of issue.created to triage requires/,
  );
  expect(refusalOf(given(null, {}, event, conditions))).toMatch(/does not have the label "Agent"/);
  expect(refusalOf({ ...given(null, {}, { ...event, subject: null }, conditions), payload })).toMatch(/names no project/);
});

test("a payload without labels does not say that the issue has none", () => {
  const labelled = (payload: Json) => refusalOf({ ...given(null, {}, {}, { label: "bug" }), payload });
  expect(labelled({ issue: { labels: [] } })).toMatch(/^the issue does not have the label "bug"/);
  expect(labelled({ comment: { body: "hi" }, issue: { key: "APP-1", fields: { summary: "x" } } })).toMatch(
    /^the payload contains no labels, so it does not have the label "bug", which the mapping of/,
  );
});

test("a letter with an accent is one character or two, in labels and in mentions", () => {
  const [one, two] = ["Caf\u00e9", "cafe\u0301"];
  for (const [required, written] of [
    [one, two],
    [two, one],
  ] as const) {
    const payload = { issue: { labels: [{ name: written }] } };
    expect(refusalOf({ ...given(null, {}, {}, { label: required }), payload })).toBeNull();
    expect(mentions(`Hello @${written}!`, required)).toBe(true);
    expect(mentions(`Hello @${written}s!`, required)).toBe(false);
  }
});

test("a mention is a whole word; labels are found wherever a platform puts them", () => {
  for (const text of ["@bot", "hey @Bot, go", "(@bot)", "@bots and @bot.", "_@bot_ look", "_ask @bot_"])
    expect(mentions(text, "bot")).toBe(true);
  for (const text of ["bot", "@bots", "me@bot.example", "@bot-2", "a_@bot", "@bot_2", "@bot__x", ""])
    expect(mentions(text, "@bot")).toBe(false);
  const payload = {
    label: { name: "removed" },
    object_attributes: { labels: [{ title: "two" }] },
    issue: { fields: { labels: ["three"] } },
    a: { b: { c: { d: { labels: ["too deep"] } } } },
  };
  expect(labelsIn(payload).names.sort()).toEqual(["three", "two"]);
  expect(labelsIn({ label: { name: "removed" }, issue: { labels: [] } }).names).toEqual([]);
  expect(labelsIn({ label: { name: "one" } }).names).toEqual(["one"]);
  fc.assert(fc.property(fc.jsonValue(), (value) => labelsIn(value as Json).names.every((label) => typeof label === "string")));
});

test("a mention is judged by the rules of its text's format", () => {
  const says = (payload: Json, text = "") => refusalOf({ ...given(null, {}, { text }, { mention: "bot" }), payload }) === null;
  const html = "<div>\n\n      <p>@bot please</p>\n</div>";
  expect(says({ data: { comment_html: html } })).toBe(true);
  expect(says({ data: { comment_html: "<p><code>@bot</code></p>" } })).toBe(false);
  expect(says({ data: { description_html: html } })).toBe(true);
  expect(says({ comment: { body: "a\n\n    @bot" } })).toBe(false);
  expect(says({ comment: { body: "a {code} b\n@bot\nc {code} d" } })).toBe(true);
  expect(says({ comment: { body: "a\n\n    @bot" }, issue: { fields: {} } })).toBe(true);
  expect(says({ comment: { body: "{code}@bot{code}" }, webhookEvent: "comment_created" })).toBe(false);
  expect(says({ issue: { fields: { description: "bq. @bot" } } })).toBe(false);
  expect(says({ issue: { body: "a\n\n    @bot" } }, "# T\n\na\n\n    @bot")).toBe(false);
  expect(says(null, "a\n\n    @bot")).toBe(true);
});

test("a text is filtered once for all mappings, and none takes the processor for long", async () => {
  const idle = await idleStall();
  for (const piece of ["\n", "\r>>>\n", "\n    `", "> \n"]) {
    const payload = { comment: { body: `@bot${repeat(piece, 199_900)}` } };
    const stall = await repeatedStallOf(async () => {
      const one = { ...given(null, {}, {}, { mention: "bot" }), payload };
      for (let mapping = 0; mapping < 20; mapping++) refusalOf(one);
    });
    expect(stall, JSON.stringify(piece)).toBeLessThan(maxStallMs + idle);
  }
});
