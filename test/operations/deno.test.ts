import { expect } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { testOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { commentingScript, startWorld, textsOf } from "../harness/world.ts";

const seededAgents = ["dev_default", "hub_system", "pm_default", "qa_default", "ta_default"];

/** The tests of Deno in every `npm test`; `npm run test:deno` runs all files that start the service on it. */
testOnDatabases(
  "on Deno: a webhook becomes comments, once, through a kill -9",
  async (database) => {
    // As long as the window of a write. On a busy machine, a shorter lease may expire during the start, which would be a third
    // attempt.
    const env = { EXECUTION_LEASE_SECONDS: "10" };
    await using world = await startWorld({ database, runtime: "deno", tasks: ["first"], script: commentingScript, env });
    const { service, tracker } = world;
    expect((await service.webhook(issueOpened(), { secret: "wrong" })).status).toBe(401);

    tracker.fault({ method: "POST", path: "/issues/5/comments", after: true, how: "hang" });
    const { status, body } = await service.webhook(issueOpened({ number: 5 }), { delivery: "d-5" });
    expect(status).toBe(202);
    await eventually(() => tracker.comments("octo/app", 5).length === 1);
    await service.kill();
    await service.restart();
    const [execution] = await waitForExecutions(service, { event_id: body.event_id });
    expect(execution).toMatchObject({ state: "succeeded", attempts: 2 });
    expect(textsOf(tracker, "octo/app", 5)).toEqual(["Answer of first", "Note of first"]);
    expect((await service.webhook(issueOpened({ number: 5 }), { delivery: "d-5" })).body.status).toBe("duplicate");

    // A 64-bit number is a string in the JSON of protobuf. Seeded agents may have the same time, so their order varies.
    const rpc = await service.post<{ items: { id: string }[] }>("/signalbox.api.v1.AgentService/ListAgents", { limit: 5 });
    expect(rpc).toMatchObject({ status: 200, body: { total: "5" } });
    expect(rpc.body.items.map(({ id }) => id).sort()).toEqual(seededAgents);
    expect(await service.stop()).toMatchObject({ code: 0 });
  },
  120_000,
);
