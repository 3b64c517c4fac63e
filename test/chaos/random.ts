/** Random numbers from a seed, so that a run can be repeated. */
export interface Random {
  /** From 0 to below 1. */
  next(): number;
  /** From `low` to below `high`. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  /** One of the items by its probability, which `factor` multiplies; `null` for the rest up to 1. */
  draw<T>(choices: readonly (readonly [probability: number, choice: T])[], factor?: number): T | null;
  /** A time until the next event, for events that occur at random with this mean. */
  wait(mean: number): number;
  /** Another stream of numbers, independent of this one. */
  stream(name: string): Random;
}

export function seeded(seed: number | string): Random {
  let state = hash(String(seed));
  const next = (): number => {
    // mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    chance: (probability) => next() < probability,
    pick: <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)] as T,
    draw: (choices, factor = 1) => {
      let left = next();
      for (const [probability, choice] of choices) {
        left -= probability * factor;
        if (left < 0) return choice;
      }
      return null;
    },
    wait: (mean) => -mean * Math.log(1 - next()),
    stream: (name) => seeded(`${seed}/${name}`),
  };
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  return value;
}
