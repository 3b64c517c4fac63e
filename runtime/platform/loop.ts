export interface Loop {
  /** Runs immediately, or if a run is in progress, again after it. */
  wake(): void;
  /** Resolves when the current run has ended. */
  stop(): Promise<void>;
}

export interface LoopOptions {
  /** Pause after a run, in milliseconds. */
  readonly everyMs: number;
  /** Pause before the first run, in milliseconds. Default: `everyMs`. */
  readonly firstMs?: number;
  /**
   * May return another pause. `stopSignal`: aborted when the loop is about to end; `isWoken`: whether another run follows
   * immediately.
   */
  readonly run: (stopSignal: AbortSignal, isWoken: () => boolean) => Promise<Pause | undefined> | Promise<void>;
  /** Handles the error of a run, and may return another pause. A run that fails during a stop is not reported. */
  readonly onError: ((error: unknown) => Pause) | ((error: unknown) => void);
}

/** Milliseconds until the next run. */
export interface Pause {
  readonly pauseMs: number;
}

/** Repeats `run` until it is stopped, one run at a time. Its timer does not keep the process alive. */
export function startLoop({ everyMs, firstMs = everyMs, run, onError }: LoopOptions): Loop {
  const stopController = new AbortController();
  const { signal } = stopController;
  let isWoken = false;
  let endPause = () => {};
  const pause = (ms: number) =>
    new Promise<void>((done) => {
      if (ms <= 0 || isWoken || signal.aborted) return done();
      const timer = setTimeout(done, ms).unref();
      endPause = () => {
        clearTimeout(timer);
        done();
      };
    });
  const repeat = async () => {
    for (let wait = firstMs; ; ) {
      await pause(wait);
      if (signal.aborted) return;
      isWoken = false;
      try {
        wait = (await run(signal, () => isWoken))?.pauseMs ?? everyMs;
      } catch (error) {
        if (!signal.aborted) wait = onError(error)?.pauseMs ?? everyMs;
      }
    }
  };
  const loopEnd = repeat();
  return {
    wake: () => {
      isWoken = true;
      endPause();
    },
    stop: async () => {
      stopController.abort(new Error("the service is stopping"));
      endPause();
      await loopEnd;
    },
  };
}
