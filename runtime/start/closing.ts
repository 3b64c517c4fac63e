/** What was opened, to be closed the other way round. */
export interface Closing {
  add(close: () => unknown): void;
  /** Closes all of it; what fails does not keep the rest open, and is thrown at the end. */
  close(): Promise<void>;
}

export function createClosing(): Closing {
  const steps: (() => unknown)[] = [];
  return {
    add: (close) => void steps.push(close),
    close: async () => {
      const failures: unknown[] = [];
      for (let step = steps.pop(); step; step = steps.pop()) {
        try {
          await step();
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length > 0) throw failures[0];
    },
  };
}
