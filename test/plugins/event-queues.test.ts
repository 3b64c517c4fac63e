import { expect, test } from "vitest";
import { issueOpened } from "../harness/alpha-payloads.ts";
import { anyDatabase, freshDatabase } from "../harness/databases.ts";
import { buildPlugin } from "../harness/plugin-bundle.ts";
import { type Service, startService } from "../harness/service.ts";
import { eventually } from "../harness/wait.ts";

const versions = ["1.0.0", "1.1.0", "2.0.0"];
/** A queue in the memory of its process. Its total is the number of its version, so that a reader knows which process answers. */
const box = (version: string, name = "box") => `
  import { definePlugin } from "@signalbox/sdk";
  import { z } from "zod";
  const got = [];
  export default definePlugin({
    id: "box", version: "${version}", sdk: "^0.1.0", config: z.object({}), needs: [],
    setup: () => ({ queues: { ${name}: {
      about: "In memory.",
      publish: async (messages) => void got.push(...messages.filter(({ id }) => !got.some((one) => one.id === id))),
      pending: async () => ({ items: got, total: ${versions.indexOf(version)} }),
      take: async () => got,
      ack: async () => true,
      expire: async () => {},
    } } }),
  });`;
const build = (version: string, name = "box") =>
  buildPlugin(box(version, name), {
    id: "box",
    version,
    kinds: ["queues"],
    contributes: { queues: { [name]: { about: "In memory." } } },
  });
const pending = (service: Service) => service.get<{ id: string; data: { event_id: string } }[]>("/api/box/events/pending");
/** Events in the processes of the replicas, without other messages. */
const held = async (services: readonly Service[]) => {
  const answers = await Promise.all(services.map(pending));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  return answers.flatMap(({ body }) => body).map(({ id }) => id);
};
const count = Array.from({ length: 5 });

test("a plugin's queue is used from approval to removal, by every replica, without a restart", async () => {
  const database = anyDatabase() === "postgres" ? await freshDatabase("migrated") : null;
  await using first = await startService(database ? { databaseUrl: database.url } : {});
  const second = database && (await startService({ databaseUrl: database.url }));
  const services = second ? [first, second] : [first];
  const everywhere = (status: number) =>
    eventually(async () => (await Promise.all(services.map(pending))).every((one) => one.status === status) || null);
  const events = async () => {
    const sent = await Promise.all(count.map(() => first.webhook(issueOpened())));
    return sent.map(({ body }) => body.event_id);
  };
  try {
    const before = await events();
    expect(await first.post("/api/plugins", (await build("1.0.0")).body)).toMatchObject({ status: 201 });
    expect((await pending(first)).status).toBe(404);
    expect((await first.post("/api/plugins/box/approve", {})).status).toBe(200);
    await everywhere(200);
    const after = [...before, ...(await events())];
    await eventually(async () => expect(await held(services)).toEqual(expect.arrayContaining(after)));

    // An upgrade starts another process without data; it receives only later messages.
    const upgraded = await first.post<{ version: string }>("/api/plugins", (await build("1.1.0")).body);
    expect(upgraded.body.version).toBe("1.1.0");
    const runs = async (version: string) => {
      const answers = await Promise.all(services.map(pending));
      return answers.every(({ headers }) => headers.get("x-total-count") === String(versions.indexOf(version)));
    };
    await eventually(() => runs("1.1.0"));
    await eventually(async () => expect(await held(services)).toEqual([]));
    const third = await events();
    await eventually(async () => expect((await held(services)).sort()).toEqual(third.sort()));

    expect((await first.post("/api/plugins/box/disable")).status).toBe(200);
    await everywhere(404);
    const missed = await events();
    expect((await first.post("/api/plugins/box/enable")).status).toBe(200);
    await everywhere(200);
    // While it was unavailable, they waited in the database's log.
    await eventually(async () => expect(await held(services)).toEqual(expect.arrayContaining(missed)));
    await second?.kill("SIGKILL");
    const late = await events();
    await eventually(async () => expect(await held([first])).toEqual(expect.arrayContaining(late)));

    const taken = await first.post<{ error: string }>("/api/plugins", (await build("2.0.0", "postgres")).body);
    expect(taken.status).toBe(201);
    const refused = await first.post<{ error: string }>("/api/plugins/box/approve", {});
    expect(refused).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('"postgres" is reserved for the database') },
    });
  } finally {
    await second?.close();
    await database?.drop();
  }
}, 180_000);
