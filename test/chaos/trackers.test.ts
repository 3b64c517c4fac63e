import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sendJson } from "../harness/json-client.ts";
import { eventually } from "../harness/wait.ts";
import { isSign, keyOf, Ledger, writtenIn } from "./ledger.ts";
import { deltaIssue, type Source, sources } from "./payloads.ts";
import { seeded } from "./random.ts";
import { Trackers } from "./trackers.ts";
import { comments } from "./windows/window.ts";

// The audit's counts are correct only if the trackers store comments correctly.

const deltaBase = "/api/v1/workspaces/acme/projects/8a2f6f0e-3b7e-4c57-9f6b-1f0d9c6f7a10/issues";
const paths: Readonly<Record<Source, string>> = {
  alpha: "/repos/octo/app/issues/7/comments",
  beta: "/api/v4/projects/octo%2Fteam%2Fapp/issues/7/notes",
  gamma: "/rest/api/3/issue/APP-7/comment",
  delta: `${deltaBase}/${deltaIssue(7)}/comments/`,
};
const authorization: Readonly<Record<Source, Record<string, string>>> = {
  alpha: { authorization: "token test-token-1" },
  beta: { authorization: "Bearer test-token-1" },
  gamma: { authorization: "Basic Ym90OnQ=" },
  delta: { "x-api-key": "test-key-1" },
};
const bodies: Readonly<Record<Source, (text: string) => unknown>> = {
  alpha: (body) => ({ body }),
  beta: (body) => ({ body }),
  gamma: (text) => ({ body: { type: "doc", version: 1, content: [{ type: "paragraph", content: [{ type: "text", text }] }] } }),
  delta: (text) => ({ comment_html: `<p>${text}</p>` }),
};

const ledger = new Ledger();
let trackers: Trackers;
beforeAll(async () => {
  trackers = await Trackers.start(ledger, seeded(1));
});
afterAll(() => trackers?.close());

const post = (source: Source, text: string) =>
  sendJson<{ id: string | number }>(trackers.all[source].front.url + paths[source], "POST", bodies[source](text), {
    headers: authorization[source],
  });

/** Address of one comment. */
const addressOf = (source: Source, id: string | number) => {
  const single = source === "alpha" ? "/repos/octo/app/issues/comments" : paths[source].replace(/\/$/, "");
  return `${trackers.all[source].front.url}${single}/${id}${source === "delta" ? "/" : ""}`;
};

describe.each(sources)("%s", (source) => {
  const key = keyOf(7, "first", "final");
  const keys = () => trackers.all[source].standing().map((text) => writtenIn(text)?.key);

  test("keeps every comment, and those that were deleted again", async () => {
    const tracker = trackers.all[source];
    tracker.addIssue(7);
    const [first, two] = [await post(source, `Answer ${key}`), await post(source, `Answer ${key}`)];
    expect([first.status, two.status, keys()]).toEqual([201, 201, [key, key]]);
    const at = addressOf(source, two.body.id);
    expect((await sendJson(at, "DELETE", undefined, { headers: authorization[source] })).status).toBe(204);
    expect((await sendJson(at, "DELETE", undefined, { headers: authorization[source] })).status).toBe(404);
    expect([keys(), tracker.takenBack().length, ledger.has(key)]).toEqual([[key], 1, true]);
  });

  test("counts an answer that comes by an edit, once", async () => {
    const answer = keyOf(8 + sources.indexOf(source), "living", "final");
    const { body } = await post(source, "An agent is working on this.");
    const signs = () => trackers.all[source].standing().filter(isSign).length;
    const [before, finals] = [signs(), ledger.finals];
    const method = source === "alpha" || source === "delta" ? "PATCH" : "PUT";
    for (const _ of [1, 2])
      expect(
        (await sendJson(addressOf(source, body.id), method, bodies[source](answer), { headers: authorization[source] })).status,
      ).toBe(200);
    expect([keys().filter((found) => found === answer).length, before - signs(), ledger.finals - finals]).toEqual([1, 1, 1]);
    expect((await sendJson(addressOf(source, body.id), "DELETE", undefined, { headers: authorization[source] })).status).toBe(
      204,
    );
  });

  test("holds a request as planned, and carries it out when it is released", async () => {
    const { front } = trackers.all[source];
    const plan = front.plan({ method: "POST", path: comments, trouble: { kind: "hold" } });
    const before = keys().length;
    const answer = post(source, "held");
    await eventually(() => plan.met === 1, { interval: 1 });
    expect(keys()).toHaveLength(before);
    plan.release();
    expect((await answer).status).toBe(201);
    expect(keys()).toHaveLength(before + 1);
    front.plan({ method: "POST", trouble: { kind: "status", status: 502, after: true } });
    expect((await post(source, "carried out")).status).toBe(502);
    expect(keys()).toHaveLength(before + 2);
  });
});

test("a seed decides the draws, and streams are independent", () => {
  const drawn = (random = seeded(7)) => Array.from({ length: 20 }, () => random.next());
  expect(drawn()).toEqual(drawn());
  expect(drawn(seeded(8))).not.toEqual(drawn());
  const whole = seeded(7);
  whole.stream("other").next();
  expect(drawn(whole)).toEqual(drawn());
  const counts = { often: 0, rarely: 0 };
  const random = seeded(1);
  for (let times = 0; times < 1000; times++) {
    const one = random.draw([
      [0.5, "often"],
      [0.1, "rarely"],
    ] as const);
    if (one) counts[one]++;
  }
  expect(counts.often).toBeGreaterThan(3 * counts.rarely);
  expect(counts.rarely).toBeGreaterThan(50);
});
