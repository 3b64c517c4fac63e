import { joinedText } from "@signalbox/sdk";
import { callContext, setUpPlugin } from "@signalbox/sdk/testing";
import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import gamma from "./index.ts";
import { GammaTracker } from "./test-tracker.ts";

const ago = (ms: number) => new Date(Date.now() - ms).toISOString();
const hour = 3_600_000;

describe.for([3, 2] as const)("polling version %i", (version) => {
  let tracker: GammaTracker;
  beforeEach(async () => {
    tracker = new GammaTracker(version).intercept("http://gamma.test", { http, setupServer });
    if (version === 2) tracker.searchPath = "/search";
  });
  afterEach(() => {
    vi.restoreAllMocks();
    tracker.close();
  });

  async function bench() {
    const source = (await setUpPlugin(gamma)).sources?.gamma;
    if (!source?.poll) throw new Error("gamma has no poll");
    const connection = source.connection.parse({
      url: tracker.url,
      email: "a@example.com",
      api_token: "t",
      is_cloud: version === 3,
    });
    const poll = async (cursor: string | null, project = "APP") => {
      const polled = await source.poll?.({ project, since: ago(hour), cursor }, callContext(connection));
      if (!polled) throw new Error("no answer");
      const events = await Promise.all(polled.events.map((event) => source.parse(event)));
      return { events, cursor: polled.cursor, names: events.map(({ event_name, subject }) => `${event_name} ${subject?.issue}`) };
    };
    return { source, connection, poll };
  }

  test("reports what was created, moved and written, with actors and in order", async () => {
    const { poll } = await bench();
    tracker.addIssue("APP-1", ago(10 * hour));
    tracker.addIssue("APP-2", ago(50 * 60_000));
    const moved = tracker.addIssue("APP-3", ago(10 * hour));
    tracker.change(moved, "status", "To Do", "In Progress");
    tracker.comment(
      "APP-3",
      version === 3 ? { type: "doc", content: [{ type: "paragraph", content: [{ type: "text", text: "Hm." }] }] } : "Hm.",
    );
    const first = await poll(null);
    expect(first.names).toEqual(["gamma:issue_created APP-2", "gamma:issue_updated APP-3", "comment_created APP-3"]);
    expect(new Set(first.events.map((event) => event.actor))).toEqual(new Set([version === 3 ? "5b10-ann" : "ann"]));
    expect(joinedText(first.events[1]?.text ?? "")).toContain("- status: To Do → In Progress");
    expect(joinedText(first.events[2]?.text ?? "")).toContain("## Comment by Ann\n\nHm.");
    for (const event of first.events)
      expect(event).toMatchObject({ missing_field: null, delivery_id: `poll:${event.change_key}` });
    expect((await poll(first.cursor)).names).not.toContain("gamma:issue_created APP-2");
    tracker.addIssue("APP-4", new Date().toISOString());
    expect((await poll(first.cursor)).names).toContain("gamma:issue_created APP-4");
  });

  test("the webhook and the poll of one change have one key", async () => {
    const { poll, source } = await bench();
    const issue = tracker.addIssue("APP-1", ago(10 * hour));
    tracker.change(issue, "status", "To Do", "Done");
    const { histories, ...names } = issue;
    const payload = { webhookEvent: "jira:issue_updated", issue: names, changelog: { id: histories[0]?.id, items: [] } };
    const webhook = await source.parse({ headers: {}, payload: JSON.parse(JSON.stringify(payload)) });
    expect((await poll(null)).events.map((event) => event.change_key)).toEqual([webhook.change_key]);
  });

  test("changes that one poll cannot read are read by the next ones", async () => {
    const { poll } = await bench();
    for (let count = 1; count <= 750; count++)
      tracker.addIssue(`APP-${count}`, new Date(Date.now() - 3_000_000 + count * 3000).toISOString());
    const seen = new Set<string>();
    let cursor: string | null = null;
    for (let round = 0; round < 6; round++) {
      const polled = await poll(cursor);
      for (const one of polled.names) seen.add(one);
      cursor = polled.cursor;
    }
    expect(seen.size).toBe(750);
  }, 30_000);

  test("an issue that changes while the list is read hides no other", async () => {
    const { poll } = await bench();
    for (let count = 1; count <= 290; count++)
      tracker.addIssue(`APP-${count}`, new Date(Date.now() - 3_000_000 + count * 3000).toISOString());
    const fetched = globalThis.fetch;
    let changes = 0;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (...call) => {
      const response = await fetched(...call);
      const [request] = call;
      const url = request instanceof Request ? request.url : String(request);
      const changed = url.includes(`${tracker.searchPath}?`) ? tracker.issues[changes++] : undefined;
      if (changed) tracker.change(changed, "status", "To Do", "Done");
      return response;
    });
    const seen = new Set<string>();
    for (let round = 0, cursor: string | null = null; round < 2; round++) {
      const polled = await poll(cursor);
      for (const { subject } of polled.events) seen.add(subject?.issue ?? "");
      cursor = polled.cursor;
    }
    expect(changes).toBeGreaterThan(2);
    expect(seen.size).toBe(290);
  });

  test("more issues than one poll reads, all changed within one second, are read by the next ones", async () => {
    const { poll } = await bench();
    const at = Date.now() - 600_000;
    for (let count = 1; count <= 750; count++)
      tracker.addIssue(`APP-${count}`, new Date(at + (count % 3) * 300 + (count > 700 ? 120_000 : 0)).toISOString());
    const seen = new Set<string>();
    for (let round = 0, cursor: string | null = null; round < 4; round++) {
      const polled = await poll(cursor);
      for (const one of polled.names) seen.add(one);
      cursor = polled.cursor;
    }
    expect(seen.size).toBe(750);
  });

  test("an invalid project is refused, an invalid cursor restarts the poll", async () => {
    const { poll } = await bench();
    tracker.addIssue("APP-2", ago(60_000));
    expect((await poll("not a cursor")).names).toEqual(["gamma:issue_created APP-2"]);
    await expect(poll(null, 'APP" OR project = "X')).rejects.toMatchObject({ code: "invalid_input" });
  });
});
