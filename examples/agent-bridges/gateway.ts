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
/** An error response: of the gateway, with its code, for example `not_found`, or of a proxy, with the code `http_413`. */
class GatewayError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(`${code}: ${message}`);
    this.code = code;
  }
}

const service = "signalbox.gateway.v1.AgentGateway";
/** Errors that a new registration or a repetition does not solve. */
const permanentCodes = ["not_found", "unauthenticated", "permission_denied", "invalid_argument"];
const pause = (seconds: number) => new Promise((done) => setTimeout(done, seconds * 1000));
/** A random time around this one, so that bridges that lost the service together do not return together. */
const jittered = (seconds: number) => seconds * (0.5 + Math.random());

async function call<T>(url: string, method: string, body: object, timeoutSeconds = 30): Promise<T> {
  const headers = { "content-type": "application/json", "connect-protocol-version": "1" };
  const response = await patient(() => {
    const request = { method: "POST", headers, body: JSON.stringify(body), signal: AbortSignal.timeout(timeoutSeconds * 1000) };
    return fetch(`${url}/${service}/${method}`, request);
  });
  const { ok, status } = response;
  if (ok) return (await response.json()) as T;
  // The error page of a proxy is not JSON, or it is JSON of another form.
  const { code, message = `HTTP ${status}` } = (await response.json().catch(() => null)) ?? {};
  throw new GatewayError(typeof code === "string" ? code : `http_${status}`, message);
}

/** Sends a request again when the gateway allows it: `RATE_LIMIT_…` limits the calls of an agent per minute. */
async function patient(send: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await send();
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    if (response.status !== 429 || !(seconds >= 0)) return response;
    console.warn(`too many calls: retrying in ${seconds} s`);
    await response.body?.cancel();
    await pause(Math.max(seconds, 0.5));
  }
}

/**
 * Serves tasks until the process ends. `work` returns the answer; a task whose work throws is failed, so that it can be retried.
 */
export async function serveTasks(access: Access, work: (task: Task) => Promise<string>): Promise<never> {
  for (let wait = 1; ; ) {
    const startedAt = performance.now();
    await session(access, work).catch((error: Error) => console.warn(error.message));
    // Exponential backoff, reset after a session that lasted.
    wait = performance.now() - startedAt > 60_000 ? 1 : Math.min(wait * 2, 30);
    await pause(jittered(wait));
  }
}

/** A session, and when the gateway last renewed the leases of its tasks, in the time of `performance.now`. */
interface Session {
  readonly url: string;
  readonly sessionId: string;
  readonly heartbeatSeconds: number;
  renewedAt: number;
}

/** One session: from the registration until the stream of tasks ends. */
async function session(access: Access, work: (task: Task) => Promise<string>): Promise<void> {
  const { url, agentId, secret, heartbeatSeconds } = access;
  const registration = { agentId, ...(secret && { secret }), version: "1.0" };
  const { sessionId } = await call<{ sessionId: string }>(url, "RegisterAgent", registration).catch((error) => {
    if (!permanentCodes.includes(error.code)) throw error;
    console.error(`registration failed: ${error.message}`);
    process.exit(1);
  });
  console.log(`registered as ${agentId}`);
  const own: Session = { url, sessionId, heartbeatSeconds, renewedAt: performance.now() };
  const ended = new AbortController();
  let isBeating = false;
  const beat = async () => {
    if (isBeating) return;
    isBeating = true;
    const sentAt = performance.now();
    try {
      // A lost one must not delay the next.
      await call(url, "Heartbeat", { sessionId }, Math.max(heartbeatSeconds, 5));
      own.renewedAt = sentAt;
    } catch (error) {
      console.warn(`heartbeat: ${reasonOf(error)}`);
      // The stream may not notice that its session or connection is gone.
      if (isHopeless(error) || secondsLeft(own) <= 0) ended.abort(error);
    }
    isBeating = false;
  };
  const timer = setInterval(beat, heartbeatSeconds * 1000);
  try {
    for await (const task of tasksOf(own, ended.signal)) await attempt(own, task, work);
  } finally {
    clearInterval(timer);
  }
}

const isHopeless = (error: unknown) => error instanceof GatewayError && permanentCodes.includes(error.code);
const reasonOf = (error: unknown) => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
};

/** Seconds until the leases of tasks end without a heartbeat. A lease is at least three heartbeats long. */
const secondsLeft = ({ renewedAt, heartbeatSeconds }: Session): number =>
  Math.max(3 * heartbeatSeconds, 15) - (performance.now() - renewedAt) / 1000;

/**
 * Codes of calls that are refused because of their content: repeated, they are refused again. The gateway answers
 * `resource_exhausted` to a message that is too large, and the same with `retry-after` to too many calls. All other codes may come
 * from an outage, and a proxy may answer with any status meanwhile.
 */
const refusals = ["invalid_argument", "resource_exhausted", "http_413"];
/** Codes of internal errors of the server. */
const faults = ["internal", "unknown"];
/** How often a call is sent that the server answers with an internal error, which may be temporary. */
const maxInternalErrors = 3;
/** Maximum length of the reason of a failure. */
const maxReason = 10_000;

/** Results that the gateway has not confirmed, by execution. A task that is received again is not done again. */
const undelivered = new Map<string, string>();
const maxUndelivered = 100;

async function attempt(session: Session, task: Task, work: (task: Task) => Promise<string>): Promise<void> {
  const { executionId } = task;
  const known = undelivered.get(executionId);
  console.log(`task ${executionId}: ${task.taskName}${known === undefined ? "" : " (its result was not delivered)"}`);
  session.renewedAt = performance.now();
  let result: string;
  try {
    result = known ?? (await work(task));
  } catch (error) {
    console.error(`task ${executionId} failed:`, error);
    return report(session, task, "FailTask", { error: String(error).slice(0, maxReason), retryable: true });
  }
  undelivered.set(executionId, result);
  const [oldest = ""] = undelivered.keys();
  if (undelivered.size > maxUndelivered) undelivered.delete(oldest);
  await report(session, task, "CompleteTask", { result });
}

/**
 * Reports the outcome of a task. If the gateway does not answer, the call is repeated for as long as the lease of the task would
 * last without another heartbeat. A result that it refuses becomes a failure with the reason. It answers `not_found` if it had
 * carried out the call already.
 */
async function report(session: Session, task: Task, method: "CompleteTask" | "FailTask", outcome: object): Promise<void> {
  const { executionId } = task;
  const { url, sessionId } = session;
  // Heartbeats go on meanwhile, and each renews the lease.
  const startedAt = performance.now();
  const end = startedAt + secondsLeft(session) * 1000;
  const remainingSeconds = () => (end - performance.now()) / 1000;
  let internalErrors = 0;
  for (let wait = 0.5; ; wait = Math.min(wait * 2, 5)) {
    try {
      // A call that hangs leaves time for another.
      await call(url, method, { sessionId, executionId, ...outcome }, Math.min(30, Math.max(5, remainingSeconds() / 2)));
      undelivered.delete(executionId);
      return;
    } catch (error) {
      const reason = reasonOf(error);
      const code = error instanceof GatewayError ? error.code : "";
      // It was completed by an earlier call, it was withdrawn, or another session has it.
      if (code === "not_found") return console.warn(`task ${executionId}: ${reason}`);
      if (isHopeless(error) && code !== "invalid_argument") throw error;
      const isInternal = faults.includes(code);
      if (refusals.includes(code) || (isInternal && ++internalErrors >= maxInternalErrors)) {
        if (method === "FailTask") throw error;
        // If the task is received again, new work may have a result that is accepted.
        if (!isInternal) undelivered.delete(executionId);
        const failure = `Its result was refused: ${reason}`.slice(0, maxReason);
        return report(session, task, "FailTask", { error: failure, retryable: isInternal });
      }
      if (remainingSeconds() <= 0) {
        const what = method === "CompleteTask" ? "result" : "failure";
        const seconds = Math.round((performance.now() - startedAt) / 1000);
        throw new Error(`task ${executionId}: its ${what} could not be delivered within ${seconds} s: ${reason}`);
      }
      const what = isInternal ? "failed" : "was not answered";
      console.warn(`task ${executionId}: ${method} ${what}, retrying: ${reason}`);
      await pause(Math.min(jittered(wait), Math.max(remainingSeconds(), 0)));
    }
  }
}

/** The stream of tasks in Connect's envelopes: one byte of flags, four of length, then JSON. The last one has the flag 2. */
async function* tasksOf({ url, sessionId }: Session, signal: AbortSignal): AsyncGenerator<Task> {
  const requestBytes = new TextEncoder().encode(JSON.stringify({ sessionId, maxInFlight: 1 }));
  const body = new Uint8Array(5 + requestBytes.byteLength);
  new DataView(body.buffer).setUint32(1, requestBytes.byteLength);
  body.set(requestBytes, 5);
  const headers = { "content-type": "application/connect+json", "connect-protocol-version": "1" };
  const response = await fetch(`${url}/${service}/ReceiveTasks`, { method: "POST", headers, body, signal });
  if (!response.ok || !response.body) throw new Error(`ReceiveTasks: HTTP ${response.status}`);
  let buffer = Buffer.alloc(0);
  for await (const part of response.body) {
    buffer = Buffer.concat([buffer, part]);
    while (buffer.byteLength >= 5 && buffer.byteLength >= 5 + buffer.readUInt32BE(1)) {
      const [isEnd, length] = [((buffer[0] ?? 0) & 2) !== 0, buffer.readUInt32BE(1)];
      const message = JSON.parse(buffer.subarray(5, 5 + length).toString("utf8"));
      buffer = buffer.subarray(5 + length);
      if (isEnd) throw new GatewayError(message.error?.code ?? "unavailable", message.error?.message ?? "the stream ended");
      yield { systemPrompt: "", content: "", taskName: "", ...message };
    }
  }
}
