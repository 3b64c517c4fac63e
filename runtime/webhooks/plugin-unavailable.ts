import { within } from "../platform/abortable.ts";

/** A sandboxed plugin could not be called. */
export class PluginUnavailable extends Error {
  /** Whether its process ended or did not respond during this call. */
  readonly duringCall: boolean;
  constructor(message: string, duringCall: boolean) {
    super(message);
    this.duringCall = duringCall;
  }
}

/** Maximum time that a plugin may take to parse a webhook while its sender waits, in milliseconds. */
const timeoutMs = 5_000;

/** Calls a sandboxed plugin. Throws `PluginUnavailable` if it cannot respond now; every other error is its response. */
export async function callSandboxed<T>(call: () => Promise<T> | T): Promise<T> {
  try {
    return await within(call(), timeoutMs, () => new PluginUnavailable(`it did not answer within ${timeoutMs} ms`, true));
  } catch (error) {
    const { code, message, retryable } = (error ?? {}) as { code?: unknown; message?: unknown; retryable?: unknown };
    // A starting process can be called again. If the process ended during the call, the call must not be repeated.
    if (code === "unavailable" || code === "timeout")
      throw new PluginUnavailable(String(message), code === "timeout" || retryable === false);
    throw error;
  }
}
