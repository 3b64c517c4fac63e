import { PluginError } from "@signalbox/sdk";

/** Runs until the signal is aborted. What waits in a queue or for a repetition does not look at the signal by itself. */
export async function abortable<T>(signal: AbortSignal, asked: string, run: () => Promise<T>): Promise<T> {
  const late = (): PluginError => new PluginError("timeout", `alpha did not answer ${asked} before the deadline`);
  if (signal.aborted) throw late();
  let leave = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(late());
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([run(), aborted]);
  } catch (error) {
    throw signal.aborted ? late() : error;
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
