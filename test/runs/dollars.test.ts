import { describe, expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { limitedWorld, usage } from "../harness/limited-world.ts";
import { eventually } from "../harness/wait.ts";

const limited = limitedWorld();
const { project, send, only, answerWithUsage } = limited;

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

test("a model without a price is reported where a budget in US dollars should count it", async () => {
  const repo = await project({ month_usd: 0.2 });
  answerWithUsage(repo, "unheard-of", usage, 2);
  for (const number of [1, 2])
    expect(await only((await send(issueOpened({ repo, number }))).event_id, "succeeded")).toMatchObject({
      cost_usd: null,
      unpriced_tokens: 100,
    });
  const reason = expect.stringContaining("MODEL_PRICES");
  // The watchdog stores an entry without delaying what it reports.
  await eventually(async () => {
    const { body } = await limited.world.service.get<{ context: object }[]>("/api/watchdog?search=without%20a%20price");
    return expect(body.map(({ context }) => context)).toMatchObject([{ model: "unheard-of", reason }]) ?? true;
  });
});
