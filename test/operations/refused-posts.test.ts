import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, token, webhookSecret } from "../harness/world.ts";

interface Status {
  readonly state: string;
  readonly checks: readonly { readonly name: string; readonly state: string; readonly message: string }[];
}

test.concurrent.each([403, 404, 422])(
  "the tracker refuses every comment with %d: after two issues, the status is degraded until a comment is posted",
  { timeout: 180_000 },
  async (status) => {
    await using world = await startWorld({ tasks: ["first"], env: { EXECUTION_RETRY_LIMIT: "0" } });
    const { service, tracker } = world;
    const open = async (number: number, state: "failed" | "succeeded") => {
      const { body } = await service.webhook(issueOpened({ repo: "octo/app", number }));
      await waitForExecutions(service, { event_id: body.event_id, count: 1, state });
    };
    const posts = async () => {
      const { checks, state } = (await service.get<Status>("/api/status")).body;
      return { state, check: checks.find(({ name }) => name === "posts:alpha") };
    };
    tracker.fault({ method: "POST", path: "comments", status, times: 0 });
    await open(1, "failed");
    const { checks } = (await service.get<Status>("/api/status")).body;
    expect(checks.filter(({ name }) => name.startsWith("posts:"))).toEqual([]);
    await open(2, "failed");
    const refused = await eventually(async () => (await posts()).check && posts(), { timeout: 30_000 });
    expect(refused).toMatchObject({ state: "degraded", check: { state: "degraded" } });
    expect(refused.check?.message).toMatch(
      new RegExp(`^2 executions on 2 issues failed to post to alpha in the last hour\\. Latest error: .*${status}`),
    );
    tracker.clearFaults();
    await open(3, "succeeded");
    await eventually(async () => (await posts()).check === undefined, { timeout: 30_000 });
  },
);

test.concurrent("an account that the tracker refuses is named although another account of the source can post", {
  timeout: 120_000,
}, async () => {
  const env = { EXECUTION_RETRY_LIMIT: "0", ENCRYPTION_KEY: randomBytes(32).toString("hex") };
  await using world = await startWorld({ tasks: ["first"], env });
  const { service, tracker } = world;
  const credentials = { token, api_url: tracker.url, webhook_secret: webhookSecret };
  const { body: customer } = await service.post<{ id: string }>("/api/integrations", {
    source: "alpha",
    name: "Customer",
    credentials,
  });
  const open = async (repo: string, number: number, state: "failed" | "succeeded", slug = "alpha") => {
    const { body } = await service.webhook(issueOpened({ repo, number }), { slug });
    await waitForExecutions(service, { event_id: body.event_id, count: 1, state });
  };
  const posts = async () => {
    const { checks } = (await service.get<Status>("/api/status")).body;
    return checks.filter(({ name }) => name.startsWith("posts:")).map(({ name, state }) => [name, state]);
  };
  tracker.fault({ method: "POST", path: "customer/app/.*comments", status: 403, times: 0 });
  for (const number of [1, 2]) await open("customer/app", number, "failed", customer.id);
  await open("octo/app", 3, "succeeded");
  await eventually(async () => expect(await posts()).toEqual([[`posts:Customer (${customer.id})`, "degraded"]]));
  tracker.clearFaults();
  await open("customer/app", 4, "succeeded", customer.id);
  await eventually(async () => expect(await posts()).toEqual([]));
});
