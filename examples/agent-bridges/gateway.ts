/** A task of the gateway; see schema/gen/gateway.proto. */
export interface Task {
  readonly executionId: string;
  readonly taskName: string;
  readonly systemPrompt: string;
  readonly content: string;
}
export interface Access {
  /** URL of the service's HTTP port. The gateway supports Connect there, so no generated code is needed. */
  readonly url: string;
  readonly agentId: string;
  readonly secret: string;
  readonly heartbeatSeconds: number;
}
/** An error response of the gateway, with its code, for example `not_found`. */
export class GatewayError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

const service = "signalbox.gateway.v1.AgentGateway";
/** Errors that a new registration does not solve. */
const hopeless = ["not_found", "unauthenticated", "invalid_argument"];

async function call<T>(url: string, method: string, body: object): Promise<T> {
  const headers = { "content-type": "application/json", "connect-protocol-version": "1" };
  const response = await patient(() => {
    const request = { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(30_000) };
    return fetch(`${url}/${service}/${method}`, request);
  });
  const answer = (await response.json()) as T & { code?: string; message?: string };
  if (!response.ok) throw new GatewayError(answer.code ?? "unknown", answer.message ?? `HTTP ${response.status}`);
  return answer;
}

/** Sends a request again when the gateway allows it: `RATE_LIMIT_…` limits the calls of an agent per minute. */
async function patient(send: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await send();
    const seconds = Number(response.headers.get("retry-after"));
    if (response.status !== 429 || !(seconds > 0)) return response;
    console.warn(`too many calls: retrying in ${seconds} s`);
    await response.body?.cancel();
    await new Promise((done) => setTimeout(done, seconds * 1000));
  }
}

/**
 * Serves tasks until the process ends. `work` returns the answer; a task whose work throws is failed, so that it can be retried.
 */
export async function serveTasks(access: Access, work: (task: Task) => Promise<string>): Promise<never> {
  for (let wait = 1; ; ) {
    const began = performance.now();
    await session(access, work).catch((error: Error) => console.warn(error.message));
    // Exponential backoff, reset after a session that lasted.
    wait = performance.now() - began > 60_000 ? 1 : Math.min(wait * 2, 30);
    await new Promise((done) => setTimeout(done, wait * 1000));
  }
}

/** One session: from the registration until the stream of tasks ends. */
async function session(access: Access, work: (task: Task) => Promise<string>): Promise<void> {
  const { url, agentId, secret, heartbeatSeconds } = access;
  const registration = { agentId, ...(secret && { secret }), version: "1.0" };
  const { sessionId } = await call<{ sessionId: string }>(url, "RegisterAgent", registration).catch((error) => {
    if (!hopeless.includes(error.code)) throw error;
    console.error(`registration failed: ${error.message}`);
    process.exit(1);
  });
  console.log(`registered as ${agentId}`);
  let beating = false;
  const beat = async () => {
    if (beating) return;
    beating = true;
    await call(url, "Heartbeat", { sessionId }).catch((error) => console.warn(`heartbeat: ${error.message}`));
    beating = false;
  };
  const timer = setInterval(beat, heartbeatSeconds * 1000);
  try {
    for await (const task of tasksOf(url, sessionId)) await attempt(url, sessionId, task, work);
  } finally {
    clearInterval(timer);
  }
}

async function attempt(url: string, sessionId: string, task: Task, work: (task: Task) => Promise<string>): Promise<void> {
  const { executionId } = task;
  console.log(`task ${executionId}: ${task.taskName}`);
  try {
    await call(url, "CompleteTask", { sessionId, executionId, result: await work(task) });
  } catch (error) {
    // It was withdrawn, or another session has it.
    if (error instanceof GatewayError && error.code === "not_found") return console.warn(`task ${executionId}: ${error.message}`);
    if (error instanceof GatewayError) throw error;
    console.error(`task ${executionId} failed:`, error);
    await call(url, "FailTask", { sessionId, executionId, error: String(error), retryable: true });
  }
}

/** The stream of tasks in Connect's envelopes: one byte of flags, four of length, then JSON. The last one has the flag 2. */
async function* tasksOf(url: string, sessionId: string): AsyncGenerator<Task> {
  const asked = new TextEncoder().encode(JSON.stringify({ sessionId, maxInFlight: 1 }));
  const body = new Uint8Array(5 + asked.byteLength);
  new DataView(body.buffer).setUint32(1, asked.byteLength);
  body.set(asked, 5);
  const headers = { "content-type": "application/connect+json", "connect-protocol-version": "1" };
  const response = await fetch(`${url}/${service}/ReceiveTasks`, { method: "POST", headers, body });
  if (!response.ok || !response.body) throw new Error(`ReceiveTasks: HTTP ${response.status}`);
  let held = Buffer.alloc(0);
  for await (const part of response.body) {
    held = Buffer.concat([held, part]);
    while (held.byteLength >= 5 && held.byteLength >= 5 + held.readUInt32BE(1)) {
      const [isEnd, length] = [((held[0] ?? 0) & 2) !== 0, held.readUInt32BE(1)];
      const message = JSON.parse(held.subarray(5, 5 + length).toString("utf8"));
      held = held.subarray(5 + length);
      if (isEnd) throw new GatewayError(message.error?.code ?? "unavailable", message.error?.message ?? "the stream ended");
      yield { systemPrompt: "", content: "", taskName: "", ...message };
    }
  }
}
