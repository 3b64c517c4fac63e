/** A sandboxed plugin could not be asked. */
export class PluginUnavailable extends Error {
  /** Its process ended, or did not answer, over this very call. */
  readonly duringCall: boolean;
  constructor(message: string, over: boolean) {
    super(message);
    this.duringCall = over;
  }
}

/** Longest that a webhook's sender waits for a plugin to read it. */
const patienceMs = 5_000;

/** Asks a sandboxed plugin. Throws a `PluginAway` where it cannot answer now; every other error is its answer. */
export async function askPlugin<T>(ask: () => Promise<T> | T): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new PluginUnavailable(`it did not answer within ${patienceMs} ms`, true)), patienceMs);
  });
  try {
    return await Promise.race([ask(), late]);
  } catch (error) {
    const { code, message, retryable } = (error ?? {}) as { code?: unknown; message?: unknown; retryable?: unknown };
    // What waits for its next start can be asked again; what ended over the call says that it must not be repeated.
    if (code === "unavailable" || code === "timeout")
      throw new PluginUnavailable(String(message), code === "timeout" || retryable === false);
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
