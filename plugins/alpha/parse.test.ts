import webhooks from "@octokit/webhooks-examples" with { type: "json" };
import { addMarker, joinedText, type WebhookPayload } from "@signalbox/sdk";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "./parse.ts";
import { shortestOf } from "./test-shortest.ts";

const ok = (event: ReturnType<typeof parse>) => {
  for (const text of [
    ...[event.text].flat(),
    event.event_name,
    event.action,
    event.actor,
    event.delivery_id,
    event.subject?.project,
  ]) {
    if (text) expect(text.isWellFormed() && !text.includes("\0")).toBe(true);
  }
};
const names = [
  "issues",
  "issue_comment",
  "pull_request",
  "pull_request_review",
  "deployment_status",
  "__proto__",
  "constructor",
  "star",
];
const of = (event: string, payload: unknown) => parse({ headers: { "x-alpha-event": event }, payload } as WebhookPayload);

describe("parse", () => {
  test("a close or deletion ends work on its subject, whatever the mappings say", () => {
    const closes = (event: string, action: string) => of(event, { action }).closes;
    for (const event of ["issues", "pull_request", "discussion"]) expect(closes(event, "closed"), event).toBe(true);
    for (const event of ["issues", "discussion"]) expect(closes(event, "deleted"), event).toBe(true);
    for (const [event, action] of [
      ["issues", "edited"],
      ["issue_comment", "deleted"],
      ["milestone", "closed"],
    ] as const)
      expect(closes(event, action), event).toBeUndefined();
  });

  test("parses any JSON without an error", () => {
    const strange = fc.jsonValue({ stringUnit: "binary", maxDepth: 4 });
    fc.assert(
      fc.property(fc.constantFrom(...names), strange, (name, payload) => ok(of(name, payload))),
      { numRuns: 500 },
    );
  });

  test("parses any value in the members that it reads", () => {
    const any = fc.oneof(fc.jsonValue({ stringUnit: "binary" }), fc.constant("\0\ud800"), fc.integer());
    const user = fc.oneof(any, fc.record({ login: any }));
    const item = fc.oneof(
      any,
      fc.record(
        {
          number: any,
          title: any,
          body: any,
          state: any,
          user,
          labels: fc.oneof(any, fc.array(fc.record({ name: any }))),
          head: fc.record({ ref: any }),
          created_at: any,
          updated_at: any,
        },
        { requiredKeys: [] },
      ),
    );
    const payload = fc.record(
      {
        action: any,
        issue: item,
        pull_request: item,
        comment: item,
        review: item,
        repository: fc.oneof(any, fc.record({ full_name: any })),
        sender: user,
        deployment_status: item,
        deployment: any,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.constantFrom(...names), payload, (name, body) => ok(of(name, body))),
      { numRuns: 1000 },
    );
  });

  test("every example of the platform", () => {
    let subjects = 0;
    for (const { name, examples } of webhooks as unknown as { name: string; examples: object[] }[]) {
      for (const payload of examples) {
        const event = of(name, payload);
        ok(event);
        expect(event.missing_field, `${name} ${JSON.stringify(payload).slice(0, 200)}`).toBeNull();
        expect(event.event_name).toBe(name);
        if (["issues", "issue_comment", "pull_request", "pull_request_review"].includes(name)) {
          expect(event.subject?.project).toMatch(/^[\w.-]+\/[\w.-]+$/);
          expect(event.actor).toBeTruthy();
          expect(event.occurred_at).toBeTruthy();
          expect(joinedText(event.text)).toMatch(/^# (Issue|Pull request) #\d+: \S/);
          subjects += 1;
        }
      }
    }
    expect(subjects).toBeGreaterThan(50);
  });

  test("ignores inherited members of a payload with __proto__", () => {
    const payload = JSON.parse('{"__proto__": {"action": "opened", "issue": {"number": 1}, "repository": {"full_name": "o/r"}}}');
    expect(of("issues", payload)).toMatchObject({ missing_field: "issue.number", subject: null, action: null });
  });

  test.for([
    ["issues", { action: "opened" }, "issue.number"],
    ["issues", { action: "opened", issue: { number: "12" }, repository: { full_name: "o/r" } }, "issue.number"],
    ["issues", { action: "opened", issue: { number: 12 } }, "repository.full_name"],
    ["issues", { issue: { number: 12 }, repository: { full_name: "o/r" } }, "action"],
    ["pull_request", { action: "opened", issue: { number: 12 }, repository: { full_name: "o/r" } }, "pull_request.number"],
    ["issue_comment", { action: "created", issue: { number: 12 }, repository: { full_name: "o/r" } }, "comment.body"],
    ["star", [], null],
  ] as const)("%s %j reports %s as missing", ([event, payload, lacks]) => expect(of(event, payload).missing_field).toBe(lacks));

  test("an edited description is not marked as ours, a review with our marker is", () => {
    const body = addMarker("x", "k");
    expect(of("issues", { issue: { body } }).marked).toBe(false);
    expect(of("pull_request_review", { review: { body } }).marked).toBe(true);
  });

  test("the author of an issue is not the one who closed it", () => {
    const issue = { number: 1, user: { login: "ann" } };
    expect(of("issues", { action: "closed", issue, sender: { login: "bob" } }).actor).toBe("bob");
    expect(of("issues", { action: "closed", issue, sender: null }).actor).toBeNull();
    expect(of("issues", { action: "closed", issue }).actor).toBe("ann");
  });

  test("the neutral headers win", () => {
    const headers = { "x-alpha-event": "issues", "x-github-event": "star", "x-alpha-delivery": "a", "x-github-delivery": "b" };
    expect(parse({ headers, payload: {} })).toMatchObject({ event_name: "issues", delivery_id: "a" });
    expect(parse({ headers: { "x-github-event": " star ", "x-github-delivery": "b" }, payload: {} })).toMatchObject({
      event_name: "star",
      delivery_id: "b",
    });
  });

  test("parses 25 MB", async () => {
    const issue = {
      number: 1,
      title: "x",
      body: "\0".repeat(24 << 20),
      labels: Array.from({ length: 100_000 }, () => ({ name: "l" })),
    };
    const parse = () => {
      const started = performance.now();
      expect(of("issues", { action: "opened", issue, repository: { full_name: "o/r" } }).text.length).toBeLessThan(100_000);
      return performance.now() - started;
    };
    expect(await shortestOf(parse, 1_000)).toBeLessThan(1_000);
  });
});
