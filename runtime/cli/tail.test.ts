import { HttpResponse, http } from "msw";
import { setupServer } from "msw/node";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { follow } from "./tail.ts";

const url = "http://signalbox.test";
const terminal = { read: async () => "", interactive: true, columns: 80 };
const server = setupServer();
beforeAll(() => server.listen({ onUnhandledRequest: "error" }));
beforeEach(() => void vi.stubEnv("SIGNALBOX_URL", url));
afterEach(() => {
  vi.unstubAllEnvs();
  server.resetHandlers();
});
afterAll(() => server.close());

/** Follows an execution until it has ended; the service gives these answers. */
async function followed(answers: readonly ((printed: Promise<void>) => Response)[], pauseMs: number) {
  const [sent, said, complaints]: [(string | null)[], string[], string[]] = [[], [], []];
  let printed = Promise.withResolvers<void>();
  const answer = ({ request: { headers } }: { request: Request }) => {
    printed = Promise.withResolvers();
    return answers[sent.push(headers.get("last-event-id")) - 1]?.(printed.promise);
  };
  server.use(http.get(`${url}/api/task-executions/:id/events`, answer));
  const out = (text: string) => printed.resolve(void said.push(text));
  await follow("x", false, { ...terminal, out, err: (text) => complaints.push(text) }, pauseMs);
  return { sent, said: said.map((line) => /running|waiting|succeeded/.exec(line)?.[0]), complaints };
}
const eventOf = (state: string) => {
  const execution = {
    id: "x",
    task_id: "triage",
    subject: "acme/webshop#1",
    state,
    error: null,
    created_at: "2026-11-26T09:28:20.123Z",
  };
  return `event: execution\nid: 7\ndata: ${JSON.stringify({ execution_id: "x", execution, step: null })}\n\n`;
};
const asStream = { headers: { "content-type": "text/event-stream; charset=utf-8" } };
const whole = (text: string) => () => new HttpResponse(text, asStream);
/** The connection breaks after this text is printed. */
const cut = (text: string) => (printed: Promise<void>) => {
  const start = (controller: ReadableStreamDefaultController) => controller.enqueue(new TextEncoder().encode(text));
  const pull = async (controller: ReadableStreamDefaultController) => controller.error(await printed);
  return new HttpResponse(new ReadableStream({ start, pull }), asStream);
};
const refused = () => new HttpResponse(new ReadableStream({ start: (controller) => controller.error() }), { status: 503 });

test("tail reconnects after errors, reports each outage once, and prints no change twice", async () => {
  const failed = whole('event: error\ndata: {"error":"The database is unavailable. Try again."}\n\n');
  const outage = [failed, () => HttpResponse.error(), refused];
  const next = cut(eventOf("running") + eventOf("waiting"));
  const answers = [whole(eventOf("running")), ...outage, next, cut(eventOf("succeeded"))];
  const { sent, said, complaints } = await followed(answers, 0);
  expect(sent).toEqual([null, "7", "7", "7", "7", "7"]);
  const reasons = ["The database is unavailable", `The connection to ${url} was closed before the end of the response`];
  expect(complaints).toEqual(reasons.map((reason) => `The stream ended (${reason}); reconnecting.\n`));
  expect(said).toEqual(["running", "waiting", "succeeded"]);
});

test("tail continues at once after the normal end of a stream, and fails if no stream begins", async () => {
  expect((await followed([whole(eventOf("running")), whole(eventOf("succeeded"))], 600_000)).said).toHaveLength(2);
  await expect(followed([refused], 0)).rejects.toThrow("The service answered 503: ");
});

test("tail reads its configuration once, before it says that it follows", async () => {
  const complaints: string[] = [];
  const err = (text: string) => complaints.push(text);
  vi.stubEnv("SIGNALBOX_URL", "nonsense");
  await expect(follow(undefined, false, { ...terminal, out: err, err }, 0)).rejects.toThrow("SIGNALBOX_URL");
  expect(complaints).toEqual([]);
  vi.stubEnv("SIGNALBOX_URL", url);
  const changed = () => {
    vi.stubEnv("SIGNALBOX_URL", "http://elsewhere.example");
    return new HttpResponse(eventOf("running"), asStream);
  };
  expect((await followed([changed, whole(eventOf("succeeded"))], 0)).sent).toEqual([null, "7"]);
});
