import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Policy } from "@signalbox/schema/policy";
import type { EventAuthor, Json, SourceEvent } from "@signalbox/sdk";
import { describe, expect, test } from "vitest";
import document from "../../../schema/gen/openapi.json" with { type: "json" };
import { authCheck } from "../../platform/webhook-auth.ts";
import { effectivePolicy } from "../../policy/effective.ts";
import {
  commandRefusal,
  notCarriedOut,
  stoppedById,
  stoppedByIdOnly,
  waitingForName,
  waitingForStanding,
} from "../../webhooks/command.ts";
import { reasonToDiscard, triggersOf } from "../../webhooks/decide.ts";
import { refusalOf } from "../../webhooks/gate.ts";
import { unreadableEvent } from "../../webhooks/parse.ts";
import { limits, meanings, runSentence, stateText } from "./part-words.ts";
import { failureOf, failures, reasons, remedyOf } from "./remedies.ts";
import { deliveries } from "./words.ts";

const { schemas } = document.components as unknown as {
  schemas: Record<string, { enum?: string[]; properties?: Record<string, { enum?: string[]; $ref?: string }> }>;
};
const valuesOf = (schema: string, member?: string): string[] => {
  const found = member === undefined ? schemas[schema] : schemas[schema]?.properties?.[member];
  const resolved = found && "$ref" in found ? schemas[found.$ref?.split("/").at(-1) ?? ""] : found;
  return [...(resolved?.enum ?? [])].sort();
};
const isSentence = /^[A-Z].*[.]$/;

describe("every state has a sentence and a next step", () => {
  test.each([
    ["run", valuesOf("TaskExecutionState")],
    ["delivery", valuesOf("EventOutcome")],
    ["proposal", valuesOf("ProposalState")],
    ["step", valuesOf("StepState")],
    ["check", valuesOf("StatusCheck", "state")],
    ["account", valuesOf("ConnectionStatus")],
    ["service", valuesOf("Status", "state")],
    ["plugin", valuesOf("Plugin", "state")],
  ] as const)("of each %s", (part, states) => {
    expect(states.length).toBeGreaterThan(2);
    expect(Object.keys(meanings[part]).sort()).toEqual(states);
    for (const state of states) {
      const { sentence, next } = stateText(part, state);
      expect([sentence, next], state).toEqual([expect.stringMatching(isSentence), expect.stringMatching(isSentence)]);
    }
  });

  test("every limit of a policy has a name", () => {
    const names = Object.keys(schemas.EffectivePolicy?.properties ?? {}).sort();
    expect(names).toContain("trigger_min_standing");
    expect(Object.keys(limits).sort()).toEqual(names);
    expect(new Set(Object.values(limits)).size).toBe(names.length);
  });

  test("a run that succeeded says whether its answer was posted", () => {
    const run = { state: "succeeded", dry_run: false, result_url: null } as const;
    expect(runSentence({ ...run, result_url: "https://tracker.example/1" })).toMatch(/answer was posted/);
    expect(runSentence(run)).toMatch(/no comment was posted/);
    expect(runSentence({ ...run, dry_run: true })).toMatch(/Nothing was written/);
    expect(runSentence({ ...run, state: "failed" })).toBe(stateText("run", "failed").sentence);
  });

  test("a state of a newer service is shown by its name", () => {
    expect(stateText("run", "half_done")).toMatchObject({ label: "half done", tone: "idle" });
  });
});

const event: SourceEvent = { ...unreadableEvent, event_name: "issues", action: "pinned" };
const author = (more: Partial<EventAuthor>): EventAuthor => ({
  id: "7",
  name: "mallory",
  kind: "human",
  standing: "none",
  ...more,
});
const gate = (from: EventAuthor, policy: Policy = {}, conditions = {}) =>
  refusalOf({
    event: { ...event, author: from },
    payload: null as Json,
    mapping: { canonical_trigger: "issue.created", task_id: "triage", conditions },
    policy: effectivePolicy({}, policy),
    trusted: false,
  });
const origin = { kind: "webhook" } as const;
const incoming = { origin, source: "alpha", slug: "alpha", event, headers: {}, body: Buffer.from("{}"), accounts: [] };
const auth = (method: object, headers: Record<string, string> = {}, address: string | null = "192.0.2.1") => {
  const verdict = authCheck(
    method as Parameters<typeof authCheck>[0],
    "s3cret",
  )({
    headers,
    body: Buffer.from("{}"),
    address: () => address,
  });
  return verdict.ok ? null : `The webhook was refused: ${verdict.reason}`;
};
const hmac = { method: "hmac_sha256", header: "X-Hub-Signature-256", prefix: "sha256=" };

/** What the service says, by its own functions where they can be called, and a word of the remedy. */
const stopped = { summary: "/stop by gamma:Bob: 1 execution cancelled", cancelled: ["x"], isDone: true, mayRepeat: false };
const reasonsWithRemedies: readonly (readonly [reason: string | null, remedy: RegExp])[] = [
  [reasonToDiscard({ ...incoming, event: { ...event, actor: "bot" }, accounts: ["bot"] }), /caused this event itself/],
  [reasonToDiscard({ ...incoming, event: { ...event, missing_field: "issue.number" } }), /missing data/],
  [reasonToDiscard({ ...incoming, event: { ...event, missing_field: "header X-Alpha-Event" } }), /missing data/],
  [
    triggersOf(incoming, null, [], { find: () => undefined, tasksOf: () => ({ tasks: [], missingTasks: [] }) } as never).unmapped,
    /No mapping/,
  ],
  [gate(author({ kind: "bot" })), /Bots and apps/],
  [gate(author({ kind: "app" })), /Bots and apps/],
  [gate(author({}), { trigger_min_standing: "owner" }), /role in the project/],
  [gate(author({}), {}, { min_standing: "owner" }), /mapping's conditions/],
  [gate(author({}), {}, { mention: "@signalbox" }), /mapping's conditions/],
  [gate(author({}), {}, { label: "Agent" }), /mapping's conditions/],
  [gate(author({}), {}, { projects: ["acme/web"] }), /mapping's conditions/],
  [commandRefusal({ name: "stop", rest: "" }, author({})), /not allowed to use this command/],
  [commandRefusal({ name: "approve", rest: "" }, author({ standing: "unknown" })), /not allowed to use this command/],
  [waitingForStanding({ name: "approve", rest: "" }, author({ standing: "unknown" })), /being looked up/],
  [waitingForName({ name: "retry", rest: "" }), /being looked up/],
  [stoppedById(stopped).summary, /being looked up/],
  [notCarriedOut({ name: "retry", rest: "" }, "its issue could not be looked up"), /did not return the issue/],
  [notCarriedOut({ name: "retry", rest: "" }, 'there is no webhook "x"'), /could not be carried out/],
  [stoppedByIdOnly(stopped), /did not return the issue/],
  [auth(hmac), /not signed/],
  [auth(hmac, { "x-hub-signature-256": "md5=1" }), /not signed/],
  [auth(hmac, { "x-hub-signature-256": "sha256=1" }), /not signed/],
  [auth(hmac, { "x-hub-signature-256": `sha256=${"0".repeat(64)}` }), /secret does not match/],
  [auth({ method: "token", header: "X-Token" }), /not signed/],
  [auth({ method: "token", header: "X-Token" }, { "x-token": "other" }), /secret does not match/],
  [auth({ method: "ip_allowlist", cidrs: ["10.0.0.0/8"] }), /address is not in the webhook mapping's allowlist/],
  [auth({ method: "ip_allowlist", cidrs: ["10.0.0.0/8"] }, {}, null), /address is not in the webhook mapping's allowlist/],
];

test("every reason of a delivery that starts nothing has a remedy of its own", () => {
  for (const [reason, remedy] of reasonsWithRemedies) {
    expect(reason).not.toBeNull();
    expect(remedyOf(reason)?.sentence, reason ?? "").toMatch(remedy);
  }
});

/** The first argument of every `new Failure(…)` in some folders, with `x` in place of each value. */
const failuresIn = (folders: readonly string[]): string[] =>
  folders.flatMap((folder) => {
    const path = join(import.meta.dirname, "../..", folder);
    const files = readdirSync(path, { recursive: true, encoding: "utf8" }).filter((name) => /(?<!\.test)\.ts$/.test(name));
    return files.flatMap((file) =>
      [...readFileSync(join(path, file), "utf8").matchAll(/new Failure\(\s*(`[^`]*`|"[^"]*")/g)].map(([, text = ""]) =>
        text.slice(1, -1).replaceAll(/\$\{[^}]*\}/g, "x"),
      ),
    );
  });

test("every failure that ends a run has a remedy", () => {
  const all = failuresIn(["execution", "llm", "tools", "mcp-servers"]);
  expect(all.length).toBeGreaterThan(10);
  expect(all.filter((text) => failureOf(text) === null)).toEqual([]);
});

test("a refusal by the model is not taken for a fault of its API, nor a tracker's refusal for an outage", () => {
  for (const text of [
    "The model refused to answer: I cannot help with that.",
    "The answer was withheld by the model's content filter (finish_reason content_filter).",
    "The model's answer has no visible text, so there is nothing to post.",
  ])
    expect(failureOf(text)?.next).toContain("Try another prompt");
  expect(failureOf("The LLM's answer has more than 100 tool calls.")?.sentence).toContain("too many tool calls");
  expect(failureOf("The LLM answered 401: bad key")?.next).toContain("LLM_API_KEY");
  expect(failureOf("alpha answered 403 to POST /repos/o/r/issues/500/comments: no")?.next).toContain("write permission");
  expect(failureOf("alpha answered 502 to GET /repos/o/r/issues/403")?.sentence).toContain("did not respond");
});

test("remedies are sentences", () => {
  for (const { sentence, next } of [...reasons, ...failures, ...Object.values(deliveries)])
    expect([sentence, next]).toEqual([expect.stringMatching(isSentence), expect.stringMatching(isSentence)]);
});
