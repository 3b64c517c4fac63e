import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Model, startModel } from "../../../examples/demo/model.ts";
import { type Service, startService } from "../../harness/service.ts";
import { eventually } from "../../harness/wait.ts";
import type { Receipt } from "../../harness/webhooks.ts";
import { plainScript } from "../../harness/world.ts";
import type { Expected, Recorded } from "./recorded.ts";

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}
export interface RecordedPlatform {
  readonly source: string;
  /** Name of its table, if it is not that of the source. */
  readonly name?: string;
  /** The members of an answer's request beside the text and what it is found again by. Default: all but `body`. */
  readonly beside?: (body: Record<string, unknown>) => Record<string, unknown>;
  /** Read only where the payloads are. */
  readonly recorded: () => readonly Recorded[];
  readonly expected: (recorded: Recorded) => Expected;
  readonly tracker: () => Promise<{
    readonly url: string;
    readonly requests: readonly Request[];
    readonly env: Readonly<Record<string, string>>;
    close(): Promise<unknown>;
  }>;
}

interface Event {
  readonly event_name: string;
  readonly action: string | null;
  readonly subject: string | null;
  readonly actor: string | null;
  readonly author: { readonly kind: string; readonly standing: string } | null;
  readonly reason: string | null;
  readonly occurred_at: string | null;
}
interface SourceMapping {
  readonly id: number;
  readonly source: string;
  readonly event_name: string;
  readonly action: string | null;
  readonly canonical_trigger: string;
}
interface Step {
  readonly kind: string;
  readonly input: { readonly messages?: readonly { readonly content: string }[] };
}
interface Execution {
  readonly state: string;
  readonly error: string | null;
  readonly transcript: readonly Step[];
}

/** The trigger of events that the default mappings do not name. */
const wide = "recorded.seen";
/** Payloads about different issues that are sent at the same time. */
const workers = 6;

/** No limit of trust may change what one payload does: many are about the same issue. */
const unlimited = { LOOP_MAX_HOPS: "1000", UPDATE_DEBOUNCE_SECONDS: "0", TRIGGER_ALLOWED_BOTS: "*" };

/**
 * Sends every recorded payload of a platform through the door, and compares what becomes of it with the committed table:
 * first without mappings, then under the default ones and one for every other event. `RECORDED_UPDATE=1` writes the table anew.
 */
export function describeRecorded(platform: RecordedPlatform): void {
  const { source, name = source, beside = withoutBody } = platform;
  const file = join(import.meta.dirname, `${name}.jsonl`);
  describe(`${name}: every recorded payload`, { tags: ["payloads"] }, () => {
    let model: Model;
    let service: Service;
    let tracker: Awaited<ReturnType<RecordedPlatform["tracker"]>>;
    let table: readonly Expected[];
    /** When each happened, by its number; 0 where its platform does not tell. */
    const times: number[] = [];
    const all = () => platform.recorded();

    beforeAll(async () => {
      table = all().map(platform.expected);
      if (process.env.RECORDED_UPDATE === "1") writeFileSync(file, written(table));
      model = await startModel({ script: plainScript });
      tracker = await platform.tracker();
      const env = { LLM_BASE_URL: model.url, LLM_MODEL: "scripted", ...unlimited, ...tracker.env };
      service = await startService({ seed: true, env });
    }, 180_000);
    afterAll(async () => {
      await tracker?.close();
      await model?.close();
      await service?.close();
    }, 60_000);

    const send = async ({ headers, payload }: Recorded, pass: string, number: number) => {
      // One delivery for each pass; the platform's own id where it is in a header.
      const delivery = Object.fromEntries(
        Object.entries(headers).map(([name, value]) => [name, value.replace("{delivery}", `${pass}-${number}`)]),
      );
      const answer = await service.post<Receipt>(`/webhook/${source}`, JSON.stringify(payload), { headers: delivery });
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
      return answer.body;
    };

    test("the committed table is what the payloads and the documentation say", () => {
      expect(existsSync(file) ? readFileSync(file, "utf8") : "").toBe(written(table));
    });

    test("what each tells, and the default mappings", { timeout: 120_000 }, async () => {
      const defaults = await mappings();
      for (const { id } of defaults) await service.del(`/api/tasks/sources/${id}`);
      const seen = await inParallel([...all().entries()], async ([number, one]) => {
        const { event_id } = await send(one, "unmapped", number);
        const { event_name, action, subject, actor, author, occurred_at } = (
          await service.get<Event>(`/api/webhook-events/${event_id}`)
        ).body;
        times[number] = occurred_at === null ? 0 : Date.parse(occurred_at);
        const trigger = table[number]?.refused === null ? (triggerOf(defaults, event_name, action) ?? null) : null;
        const who = { kind: author?.kind ?? null, standing: toldStanding(author?.standing, table[number]?.standing) };
        return { file: one.file, event: event_name, action, trigger, subject, actor, ...who };
      });
      expect(seen).toEqual(
        table.map(({ file, event, action, trigger, subject, actor, kind, standing }) => {
          return { file, event, action, trigger, subject, actor, kind, standing };
        }),
      );
      await mapEverything(defaults);
    });

    test("what each starts: what the agent reads, and where its answer goes", { timeout: 240_000 }, async () => {
      const recorded = all();
      const compare = async (number: number) => {
        const one = recorded[number] as Recorded;
        const wanted = table[number] as Expected;
        const { event_id, executions = [], canonical_trigger } = await send(one, "mapped", number);
        const { reason } = (await service.get<Event>(`/api/webhook-events/${event_id}`)).body;
        if (wanted.refused !== null) return expect(reason, one.file).toContain(wanted.refused);
        const started = { reason, canonical_trigger, count: executions.length };
        expect(started, one.file).toEqual({ reason: null, canonical_trigger: wanted.trigger ?? wide, count: 1 });
        const id = executions[0]?.id ?? "";
        const ended = await eventually(
          async () => {
            const { body } = await service.get<Execution>(`/api/task-executions/${id}`);
            return ["succeeded", "failed", "cancelled"].includes(body.state) && body;
          },
          { timeout: 90_000 },
        );
        if (!ended) throw new Error("no execution");
        expect({ state: ended.state, error: ended.error }, one.file).toEqual({ state: "succeeded", error: null });
        const read = ended.transcript[0]?.input.messages?.map(({ content }) => content).join("\n") ?? "";
        for (const part of wanted.text) expect(read, one.file).toContain(part);
        expect(answerOf(tracker.requests, id, beside), one.file).toBe(wanted.answer);
      };
      // Many recordings are of one issue. They come in the order in which they happened, one after the other: an older state
      // is discarded, and a close ends what runs there.
      await inParallel(byIssue(table, times), async (numbers) => {
        for (const number of numbers) await compare(number);
      });
    });

    const mappings = async (): Promise<SourceMapping[]> =>
      (await service.get<SourceMapping[]>("/api/tasks/sources?limit=1000")).body.filter((one) => one.source === source);

    /** The default mappings, and one for every event that they do not name. Each trigger starts one task. */
    async function mapEverything(defaults: readonly SourceMapping[]): Promise<void> {
      const { body } = await service.get<{ id: number }[]>("/api/tasks/triggers?limit=1000");
      for (const { id } of body) await service.del(`/api/tasks/triggers/${id}`);
      const others = [...new Set(table.map(({ event }) => event))].filter(
        (event) => event !== "" && triggerOf(defaults, event, null) === undefined,
      );
      const made = others.map((event_name) => ({ source, event_name, action: null, canonical_trigger: wide }));
      const given = [...defaults.map(({ id: _, ...mapping }) => mapping), ...made];
      for (const { source, event_name, action, canonical_trigger } of given) {
        const { status } = await service.post("/api/tasks/sources", { source, event_name, action, canonical_trigger });
        expect(status).toBe(201);
      }
      for (const canonical_trigger of new Set(given.map((one) => one.canonical_trigger)))
        await service.post("/api/tasks/triggers", { canonical_trigger, task_id: "customer_uat_sync" });
    }
  });
}

/** The trigger of an event: the mapping of its action comes before the one of any action. */
function triggerOf(all: readonly SourceMapping[], event: string, action: string | null): string | undefined {
  const named = all.filter(({ event_name }) => event_name === event);
  return (named.find((one) => one.action === action) ?? named.find((one) => one.action === null))?.canonical_trigger;
}

/** The numbers of the payloads of each issue, oldest first. One without an issue is a group of its own. */
function byIssue(table: readonly Expected[], times: readonly number[]): number[][] {
  const numbers = table.map((_, number) => number).sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
  return [...Map.groupBy(numbers, (number) => table[number]?.subject ?? number).values()];
}

/** Where the payload does not tell a standing, an earlier event of that author may have had it looked up in the tracker. */
const toldStanding = (seen: string | undefined, wanted: string | null | undefined): string | null =>
  seen !== undefined && wanted === "unknown" ? wanted : (seen ?? null);

/** One row for each line: a table that a review can read. */
const written = (table: readonly Expected[]): string => table.map((row) => `${JSON.stringify(row)}\n`).join("");

/** The request that posted the answer of an execution, by the marker in it. */
function answerOf(
  requests: readonly Request[],
  execution: string,
  beside: (body: Record<string, unknown>) => Record<string, unknown>,
): string | null {
  const marker = new RegExp(`[":]${execution}\\.`);
  const posted = requests.filter(({ method, body }) => method === "POST" && marker.test(JSON.stringify(body ?? "")));
  if (posted.length === 0) return null;
  return posted
    .map(({ method, path, body }) => {
      const more = beside(body as Record<string, unknown>);
      return `${method} ${path}${Object.keys(more).length > 0 ? ` ${JSON.stringify(more)}` : ""}`;
    })
    .join(", ");
}

const withoutBody = ({ body: _, ...more }: Record<string, unknown>) => more;

async function inParallel<T, R>(items: readonly T[], act: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const queue = [...items.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await act(next[1]);
  };
  await Promise.all(Array.from({ length: workers }, work));
  return results;
}
