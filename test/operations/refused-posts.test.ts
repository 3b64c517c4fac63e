import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld } from "../harness/world.ts";

interface Status {
  readonly state: string;
  readonly checks: readonly { readonly name: string; readonly state: string; readonly message: string }[];
}

test.concurrent.each([403, 404, 422])(
  "the tracker refuses every comment with %d: after two issues, the status is degraded until a comment is posted",
  { timeout: 90_000 },
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
