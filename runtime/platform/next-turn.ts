import { setImmediate as nextTurn } from "node:timers/promises";

/** Size of a body whose steps each get a turn of the event loop, in bytes. */
const largeBytes = 1 << 20;

/** Waits for the next turn of the event loop if a body is large, because doing all its steps in one turn would delay other requests. */
export async function nextTurnIfLarge(bytes: number): Promise<void> {
  if (bytes > largeBytes) await nextTurn();
}

/** A longer text is processed in several turns of the event loop; characters. */
const longText = 65_536;

/** The same text; if it is long, in the next turn of the event loop. */
export const yieldIfLong = async (text: string): Promise<string> => {
  if (text.length > longText) await nextTurn();
  return text;
};
