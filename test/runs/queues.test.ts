import { CloudEvent, HTTP } from "cloudevents";
import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { testOnDatabases } from "../harness/on-databases.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually, waitForExecutions } from "../harness/wait.ts";

interface Message {
  readonly id: string;
  readonly type: string;
}
const redis = process.env.TEST_REDIS_URL;

/** One webhook, and two executions that fail because there is no LLM: three messages. */
const threeMessages = async (service: Service) => {
  const { body } = await service.webhook(issueOpened());
  await waitForExecutions(service, { event_id: body.event_id, count: 2 });
};
const types = (messages: readonly Message[]) => messages.map(({ type }) => type.replace("dev.signalbox.", "")).sort();
const three = ["event.received", "execution.failed", "execution.failed"];
const pending = (service: Service, queue: string) =>
  eventually(async () => {
    const { body } = await service.get<Message[]>(`/api/${queue}/events/pending`);
    return body.length >= 3 && body;
  });
const take = async (service: Service, queue: string, body: object) =>
  (await service.post<{ events: Message[] }>(`/api/${queue}/events/take`, body)).body.events;

/** Validated strictly by the project's own library. */
function asCloudEvent(message: Message): CloudEvent<Record<string, unknown>> {
  const event = new CloudEvent<Record<string, unknown>>(message as unknown as Partial<CloudEvent<Record<string, unknown>>>, true);
  expect(event.validate()).toBe(true);
  const headers = { "content-type": "application/cloudevents+json" };
  expect(HTTP.toEvent({ headers, body: JSON.stringify(message) })).toMatchObject({ id: message.id, type: message.type });
  expect(event.specversion).toBe("1.0");
  return event;
}

test("received events and finished executions are CloudEvents 1.0, pending until taken", { timeout: 120_000 }, async () => {
  await using service = await startService({ seed: true });
  const { body } = await service.webhook(issueOpened({ repo: "octo/app", number: 7 }));
  const ended = await waitForExecutions(service, { event_id: body.event_id, count: 2 });
  const listed = await pending(service, "postgres");
  const events = listed.map(asCloudEvent);
  expect(new Set(events.map(({ id, source }) => `${source} ${id}`)).size).toBe(3);
  expect(events[0]).toMatchObject({
    type: "dev.signalbox.event.received",
    source: "/webhook/alpha",
    subject: "alpha:octo/app#7",
    datacontenttype: "application/json",
    data: { event_id: body.event_id, event_name: "issues", action: "opened" },
  });
  for (const { id } of ended) {
    const event = events.find(({ data }) => data?.execution_id === id);
    expect(event).toMatchObject({ type: "dev.signalbox.execution.failed", data: { state: "failed", event_id: body.event_id } });
  }
  expect(await pending(service, "postgres")).toEqual(listed);
  expect(await take(service, "postgres", { limit: 10, lease_seconds: 600 })).toEqual(listed);
  expect((await service.get("/api/postgres/events/pending")).body).toEqual([]);
  // A discarded event was received, too.
  await service.webhook(issueOpened(), { event: "star" });
  const [discarded] = await eventually(async () => {
    const { body } = await service.get<Message[]>("/api/postgres/events/pending");
    return body.length > 0 && body;
  });
  expect(asCloudEvent(discarded as Message)).toMatchObject({
    type: "dev.signalbox.event.received",
    data: { outcome: "discarded" },
  });
});

testOnDatabases(
  "what was pending or taken outlives kill -9",
  async (database) => {
    await using service = await startService({ database, seed: true });
    await threeMessages(service);
    expect(types(await pending(service, "postgres"))).toEqual(three);
    const [first] = await take(service, "postgres", { limit: 1, lease_seconds: 600 });
    const [second] = await take(service, "postgres", { limit: 1, lease_seconds: 1 });
    expect((await service.post(`/api/postgres/events/${first?.id}/ack`)).status).toBe(204);
    await service.kill();
    await service.restart();
    const left = await eventually(async () => {
      const { body } = await service.get<Message[]>("/api/postgres/events/pending");
      return body.length === 2 && body;
    });
    expect(left[0]).toEqual(second);
    expect(left).not.toContainEqual(first);
  },
  120_000,
);

test("the queue in Redis has the same messages, each taken once", { timeout: 120_000, tags: ["redis"] }, async () => {
  await using service = await startService({ seed: true, env: { REDIS_URL: redis as string } });
  await threeMessages(service);
  const listed = await pending(service, "redis");
  expect(types(listed)).toEqual(three);
  expect((await service.get("/api/redis/events/pending?limit=1&offset=1")).body).toEqual([listed[1]]);
  expect((await service.post(`/api/redis/events/${listed[0]?.id}/ack`)).status).toBe(404);
  // Long enough that it does not expire during the next requests.
  const [one, ...none] = await take(service, "redis", { limit: 1, lease_seconds: 10 });
  expect([one, ...none]).toEqual([listed[0]]);
  const rest = await take(service, "redis", { limit: 10, lease_seconds: 600 });
  expect(rest).toEqual(listed.slice(1));
  expect(await take(service, "redis", {})).toEqual([]);
  for (const { id } of rest) expect((await service.post(`/api/redis/events/${id}/ack`)).status).toBe(204);
  expect((await service.post(`/api/redis/events/${rest[0]?.id}/ack`)).status).toBe(204);
  // Its lease expired without an acknowledgement: it is pending again, also for a service that was killed meanwhile.
  await service.kill();
  await service.restart();
  const again = await eventually(async () => (await service.get<Message[]>("/api/redis/events/pending")).body[0]);
  expect(again).toEqual(one);
  expect((await service.get("/api/redis/events/pending")).headers.get("x-total-count")).toBe("1");
  expect((await service.get<Message[]>("/api/postgres/events/pending")).body).toHaveLength(3);
});
