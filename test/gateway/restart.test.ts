import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { connectAgent, grpcGateway } from "../harness/grpc-agent.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { startWorld, textsOf } from "../harness/world.ts";

const repo = "octo/app";
const agentId = "pm_default";

describeOnDatabases("an agent that restarts", (database) => {
  test("keeps the task that it had received", { timeout: 120_000 }, async () => {
    await using world = await startWorld({ database, tasks: ["outside"] });
    const { service, model, tracker } = world;
    const gateway = grpcGateway(service.grpcPort);
    const connect = async () => {
      const agent = await connectAgent(gateway, agentId);
      await eventually(async () => (await service.get<{ agents: unknown[] }>("/api/status")).body.agents.length === 1);
      return agent;
    };
    const send = async (number: number) => (await service.webhook(issueOpened({ repo, number }))).body.event_id;
    const before = await connect();
    const event_id = await send(1);
    const executionId = await eventually(() => before.received[0]?.executionId);
    before.close();
    await eventually(async () => {
      const [execution] = await waitForExecutions(service, { event_id, state: "queued", timeout: 1_000 });
      return execution?.waiting_for === `the connected agent ${agentId}`;
    });
    const after = await connect();
    await eventually(() => after.received[0]?.executionId === executionId);
    await gateway.completeTask({ sessionId: after.sessionId, executionId, result: "Done after a restart." });
    await waitForExecutions(service, { event_id, state: "succeeded" });
    expect(textsOf(tracker, repo, 1)).toEqual(["Done after a restart."]);
    expect(model.chats()).toEqual([]);
    after.close();
    // It does not connect again, so the model runs the next task.
    const [next] = await waitForExecutions(service, { event_id: await send(2) });
    expect(next).toMatchObject({ state: "succeeded", result: "Answer of outside" });
  });
});
