import { randomBytes } from "node:crypto";
import { databaseTime } from "./clock.ts";

let lastMs = 0;
let counter = 0;
/** How far ids stay ahead of a clock that goes back, in milliseconds. */
const maxBackMs = 5_000;

/**
 * A UUID of version 7 (RFC 9562). It begins with the time in milliseconds and a counter, so ids of one process sort in the order
 * of their creation.
 */
export function newId(): string {
  const now = databaseTime();
  // Also after the clock was corrected by more than a moment.
  if (now > lastMs || lastMs - now > maxBackMs) {
    lastMs = now;
    counter = 0;
  } else if (++counter > 0xfff) {
    lastMs++;
    counter = 0;
  }
  const bytes = random16();
  bytes.writeUIntBE(lastMs, 0, 6);
  bytes.writeUInt16BE(0x7000 | counter, 6);
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The lowest id of a moment, in milliseconds since 1970. No id created at that moment or later is less. */
export function firstIdOf(ms: number): string {
  const hex = Math.min(Math.max(0, Math.floor(ms)), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}

/** Six random bytes that no one can guess, in hexadecimal. */
export const randomName = (): string => random16().toString("hex", 0, 6);

let pool = Buffer.alloc(0);

/** Random bytes are generated 4,096 at a time, because a call for 16 bytes costs as much. */
function random16(): Buffer {
  if (pool.length < 16) pool = randomBytes(4096);
  const idBytes = pool.subarray(0, 16);
  pool = pool.subarray(16);
  return idBytes;
}

/** The creation time of an id, in milliseconds. */
export const timeOfId = (id: string): number => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);

/** Whether a text is a UUID of any version. */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
