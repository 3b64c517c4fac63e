/** The result of the work. Rejects with the signal's reason once the signal is aborted, even if the work ignores it. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    const stop = () => fail(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(done, fail).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The result of the work, or `late` if it takes longer than `ms` milliseconds. The work continues. */
export function within<T, L>(work: Promise<T>, ms: number, late: L): Promise<T | L> {
  const timeout = Promise.withResolvers<L>();
  const timer = setTimeout(() => timeout.resolve(late), ms).unref();
  return Promise.race([work, timeout.promise]).finally(() => clearTimeout(timer));
}
