import { describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { limitedWorld } from "../harness/limited-world.ts";

const { project, send, only, answerWithUsage } = limitedWorld();

describe("amounts of money have no rounding errors", () => {
  test.concurrent("the cost of a run", async () => {
    const repo = await project({ run_tokens: 150 });
    const { event_id } = await send(issueOpened({ repo, number: 1, title: "keep calling" }));
    // Three requests for 0.14 each.
    expect(await only(event_id, "succeeded")).toMatchObject({ cost_usd: 0.42 });
  });

  test.concurrent("a budget of less than a cent", async () => {
    const repo = await project({ day_usd: 0.00004 });
    answerWithUsage(repo, "small", { prompt_tokens: 60, completion_tokens: 40, cost: 0.00005 });
    const { event_id } = await send(issueOpened({ repo, number: 1 }));
    expect(await only(event_id, "succeeded")).toMatchObject({ cost_usd: 0.00005 });
    expect(await only((await send(issueOpened({ repo, number: 2 }))).event_id, "held")).toMatchObject({
      held_reason: expect.stringMatching(/^0\.00005 US dollars were spent .*, and the limit is 0\.00004 /),
    });
  });

  test.concurrent("a budget that is reached exactly", async () => {
    const repo = await project({ day_usd: 0.8 });
    for (const [at, cost] of [0.1, 0.7].entries()) {
      answerWithUsage(repo, "exact", { prompt_tokens: 60, completion_tokens: 40, cost });
      const { event_id } = await send(issueOpened({ repo, number: at + 1 }));
      expect(await only(event_id, "succeeded")).toMatchObject({ cost_usd: cost });
    }
    expect(await only((await send(issueOpened({ repo, number: 3 }))).event_id, "held")).toMatchObject({
      held_reason: expect.stringMatching(/^0\.80 US dollars were spent/),
    });
  });
});
