import { isDeadlock } from "./client.ts";

/** Maximum number of tries. A deadlock ends when one side is rolled back, so more failures have another cause. */
const maxTries = 5;

/** Repeats a write that a deadlock rolled back. It must be one statement or one transaction. */
export async function retryOnDeadlock<R>(write: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (!isDeadlock(error) || tries >= maxTries) throw error;
    }
  }
}
