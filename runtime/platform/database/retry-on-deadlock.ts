import { isDeadlock } from "./client.ts";

/** A deadlock is over once one side is undone; who meets another so often has met something else. */
const mostTries = 5;

/** Makes a write again that was undone by a deadlock. It must be one statement or one transaction. */
export async function retryOnDeadlock<R>(write: () => Promise<R>): Promise<R> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      if (!isDeadlock(error) || tries >= mostTries) throw error;
    }
  }
}
