import { expect, test } from "vitest";
import type { Script } from "../../examples/demo/model.ts";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { describeOnDatabases } from "../harness/on-databases.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";
import { plainScript, startWorld } from "../harness/world.ts";

describeOnDatabases("a slow model", (database) => {
  test("a webhook is answered before the model answers", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const script: Script = async (request, number) => {
      await held;
      return plainScript(request, number);
    };
    await using world = await startWorld({ database, tasks: ["first"], script });
    const sent: string[] = [];
    for (let i = 0; i < 15; i++) {
      const { status, body } = await world.service.webhook(issueOpened({ repo: "octo/app", number: 500 + i }));
      expect(status).toBe(202);
      sent.push(body.event_id);
    }
    await eventually(async () => (await world.service.get<unknown[]>("/api/task-executions?state=running")).body.length > 0);
    for (const event_id of sent)
      expect((await world.service.get(`/api/task-executions?state=succeeded&event_id=${event_id}`)).body).toEqual([]);
    release();
    for (const event_id of sent)
      expect(await waitForExecutions(world.service, { event_id })).toMatchObject([{ state: "succeeded" }]);
  });
});
