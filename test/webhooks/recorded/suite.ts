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
  /** What one payload does would disturb the others. */
  readonly oneByOne?: boolean;
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

/** No limit of trust may change what one payload does: many are about the same issue. */
const unlimited = { LOOP_MAX_HOPS: "1000", UPDATE_DEBOUNCE_SECONDS: "0", TRIGGER_ALLOWED_BOTS: "*" };

/**
 * Sends every recorded payload of a platform through the door, under the default mappings and under one for each event, and
 * compares what becomes of it with the committed table. `RECORDED_UPDATE=1` writes the table anew.
 */
export function describeRecorded(platform: RecordedPlatform): void {
  const { source, name = source, beside = withoutBody, oneByOne = false } = platform;
  const file = join(import.meta.dirname, `${name}.jsonl`);
  const workers = oneByOne ? 1 : 6;
  describe(`${name}: every recorded payload`, { tags: ["payloads"] }, () => {
    let model: Model;
    let service: Service;
    let tracker: Awaited<ReturnType<RecordedPlatform["tracker"]>>;
    let table: readonly Expected[];
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

    test("under the default mappings", { timeout: 120_000 }, async () => {
      const seen = await inParallel(workers, all(), async (one, number) => {
        const { event_id, canonical_trigger = null } = await send(one, "default", number);
        const { event_name, action, subject, actor, author, reason } = (
          await service.get<Event>(`/api/webhook-events/${event_id}`)
        ).body;
        const trigger = overtaken(reason) ? table[number]?.trigger : canonical_trigger;
        const who = { kind: author?.kind ?? null, standing: toldStanding(author?.standing, table[number]?.standing) };
        return { file: one.file, event: event_name, action, trigger, subject, actor, ...who };
      });
      expect(seen).toEqual(
        table.map(({ file, event, action, trigger, subject, actor, kind, standing }) => {
          return { file, event, action, trigger, subject, actor, kind, standing };
        }),
      );
    });

    test("under a mapping of each event: what the agent reads, and where its answer goes", { timeout: 240_000 }, async () => {
      await mapEverything();
      await inParallel(workers, all(), async (one, number) => {
        const { event_id, executions = [] } = await send(one, "wide", number);
        const wanted = table[number] as Expected;
        const { reason } = (await service.get<Event>(`/api/webhook-events/${event_id}`)).body;
        if (wanted.refused !== null) return expect(reason, one.file).toContain(wanted.refused);
        if (overtaken(reason)) return;
        expect({ reason, count: executions.length }, one.file).toEqual({ reason: null, count: 1 });
        const id = executions[0]?.id ?? "";
        const ended = await eventually(
          async () => {
            const { body } = await service.get<Execution>(`/api/task-executions/${id}`);
            return ["succeeded", "failed", "cancelled"].includes(body.state) && body;
            // Runs on one issue follow each other, and many recordings are of one.
          },
          { timeout: 90_000 },
        );
        if (!ended) throw new Error("no execution");
        expect({ state: ended.state, error: ended.error }, one.file).toEqual({ state: "succeeded", error: null });
        const read = ended.transcript[0]?.input.messages?.map(({ content }) => content).join("\n") ?? "";
        for (const part of wanted.text) expect(read, one.file).toContain(part);
        expect(answerOf(tracker.requests, id, beside), one.file).toBe(wanted.answer);
      });
    });

    async function mapEverything(): Promise<void> {
      const { body } = await service.get<{ id: number; source: string }[]>("/api/tasks/sources?limit=1000");
      for (const one of body) if (one.source === source) await service.del(`/api/tasks/sources/${one.id}`);
      await service.post("/api/tasks/triggers", { canonical_trigger: "recorded.seen", task_id: "customer_uat_sync" });
      for (const event_name of new Set(table.map(({ event }) => event))) {
        if (event_name === "") continue;
        const made = await service.post("/api/tasks/sources", {
          source,
          event_name,
          action: null,
          canonical_trigger: "recorded.seen",
        });
        expect(made.status).toBe(201);
      }
    }
  });
}

/** Many recordings are of one issue: one that tells of an older state than another is discarded, and nothing reads it. */
const overtaken = (reason: string | null | undefined): boolean => reason?.includes("an older state of the issue") ?? false;

/** Where the payload does not tell a standing, an earlier event of that author may have had it looked up at the tracker. */
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

async function inParallel<T, R>(
  workers: number,
  items: readonly T[],
  act: (item: T, number: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const queue = [...items.entries()];
  const work = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) results[next[0]] = await act(next[1], next[0]);
  };
  await Promise.all(Array.from({ length: workers }, work));
  return results;
}
