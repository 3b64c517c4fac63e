/** The result of the work. Rejects with the signal's reason once the signal is aborted, even if the work ignores it. */
export function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((done, fail) => {
    const stop = () => fail(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(done, fail).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** A signal that is aborted together with others. */
interface LinkedSignal {
  readonly signal: AbortSignal;
  /** The others do not abort it any more, and keep no reference to it. */
  readonly unlink: () => void;
}

/**
 * A signal that is aborted together with the first of these, until `unlink`. `AbortSignal.any` needs no `unlink`, but costs several
 * times as much.
 */
export function linkSignals(signals: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  const abort = () => controller.abort(signals.find(({ aborted }) => aborted)?.reason);
  const unlink = () => {
    for (const signal of signals) signal.removeEventListener("abort", abort);
  };
  if (signals.some(({ aborted }) => aborted)) abort();
  else for (const signal of signals) signal.addEventListener("abort", abort, { once: true });
  return { signal: controller.signal, unlink };
}

/**
 * A signal that is aborted together with the given one, or with a `TimeoutError` after `ms` milliseconds, until `unlink`. A timer of
 * `AbortSignal.timeout` would keep its objects until it fires.
 */
export function deadlineOf(signal: AbortSignal, ms: number): LinkedSignal {
  const controller = new AbortController();
  const end = () => controller.abort(signal.reason);
  const timer = setTimeout(() => controller.abort(new DOMException("The operation timed out.", "TimeoutError")), ms).unref();
  if (signal.aborted) end();
  else signal.addEventListener("abort", end, { once: true });
  const unlink = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  };
  return { signal: controller.signal, unlink };
}

/** Makes a call with a deadline, as `deadlineOf` describes. Nothing remains after the call. */
export async function withDeadline<T>(signal: AbortSignal, ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const deadline = deadlineOf(signal, ms);
  try {
    return await call(deadline.signal);
  } finally {
    deadline.unlink();
  }
}

/** The result of the work, or `fallback` if it takes longer than `ms` milliseconds. The work continues. */
export function raceTimeout<T, L>(work: Promise<T> | T, ms: number, fallback: L): Promise<T | L> {
  const timeout = Promise.withResolvers<L>();
  const timer = setTimeout(() => timeout.resolve(fallback), ms).unref();
  return Promise.race([work, timeout.promise]).finally(() => clearTimeout(timer));
}

/** The result of the work. Rejects with the error of `late` if the work takes longer than `ms` milliseconds. The work continues. */
export function within<T>(work: Promise<T> | T, ms: number, late: () => Error): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(() => timeout.reject(late()), ms);
  return Promise.race([work, timeout.promise]).finally(() => clearTimeout(timer));
}
