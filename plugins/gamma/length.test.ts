import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, describe, expect, test } from "vitest";
import gamma from "./index.ts";
import { GammaTracker } from "./test-tracker.ts";

const signature = "*pm · run 7*";
const subject = { project: "APP", issue: "APP-12" };
let tracker: GammaTracker;
afterEach(() => tracker.close());

async function answer(version: 2 | 3, text: string, longest?: number): Promise<{ body: string; requests: number }> {
  tracker = new GammaTracker(version).intercept("http://gamma.test", { http, setupServer });
  tracker.addIssue("APP-12", "2026-01-02T03:04:05.678Z");
  if (longest !== undefined) tracker.longest = longest;
  const { sources } = await setUpPlugin(gamma);
  const source = sources?.gamma;
  if (!source) throw new Error("gamma has no source");
  const settings = { url: tracker.url, email: "bot@example.com", api_token: "a-token", is_cloud: version === 3 };
  const call = callContext(source.connection.parse(settings));
  const post = { subject, body: `${text.trimEnd()}\n\n${signature}` };
  const posted = await source.deliver(post, call);
  expect(await source.find(post, call)).toEqual(posted);
  await source.update?.(post, posted, call);
  const [body = "", ...others] = tracker.comments(subject);
  expect(others).toEqual([]);
  return { body, requests: tracker.requests.filter(({ method }) => method === "POST").length };
}

describe.each([
  ["Server", 2],
  ["Cloud", 3],
] as const)("%s", (_, version) => {
  test("an answer within the platform's limit is posted whole, at once", async () => {
    const { body, requests } = await answer(version, "Many words in a row.\n\n".repeat(1_000));
    expect(body).not.toContain("Cut off");
    expect(body).toContain("run 7");
    expect(requests).toBe(1);
  });

  test("one that an administrator's limit refuses is posted shorter, with its signature", async () => {
    const { body, requests } = await answer(version, "Many words in a row.\n\n".repeat(1_000), 8_000);
    expect(body).toContain("Cut off");
    expect(body).toContain("run 7");
    expect(body.length).toBeLessThan(version === 2 ? 8_000 : 40_000);
    expect(requests).toBeGreaterThan(1);
  });
});

test("Server: markup that makes a text longer than the platform takes is cut before it is sent", async () => {
  const { body, requests } = await answer(2, "a{b}c[d]*e*_f_ \n\n".repeat(1_900));
  expect(body.length).toBeLessThanOrEqual(32_767);
  expect(body).toContain("Cut off");
  expect(body).toContain("run 7");
  expect(requests).toBe(1);
});
