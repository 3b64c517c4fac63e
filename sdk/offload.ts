/**
 * Pure functions that may take long, by name: conversions, parsers, searches in external text. Input and result
 * are JSON. They must depend only on their input, because another thread runs them in another copy of the module.
 */
export type OffloadedFunctions = Readonly<Record<string, (...input: never[]) => unknown>>;

/**
 * Runs one of the plugin's `offloaded` functions outside the host's event loop, for at most 500 ms. Rejects with a
 * `PluginError`: `timeout` at the deadline, `unavailable` if too many calls wait, `failed` if the function throws, `invalid_input` if
 * the input is not JSON. A plugin in the host's process runs them in a worker thread; a sandboxed plugin runs them in its own
 * process, without their own deadline, because the host can end that process.
 */
export type Offload<F extends OffloadedFunctions = OffloadedFunctions> = <N extends keyof F & string>(
  name: N,
  ...input: Parameters<F[N]>
) => Promise<Awaited<ReturnType<F[N]>>>;
