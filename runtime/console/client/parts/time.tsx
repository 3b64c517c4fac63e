import { signal } from "@preact/signals";
import { plain } from "./text.tsx";

const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1_000);

const absolute = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const steps: readonly (readonly [name: string, seconds: number])[] = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
];

/** `12 s`, `4 min`, `3 h`, `12 d`. */
function spanText(seconds: number): string {
  const [name, size] = steps.find(([, length]) => seconds >= length) ?? ["s", 1];
  return `${Math.floor(seconds / size)} ${name}`;
}

/** The absolute time, for a name that has no element of its own; a text that is not a time as it is. */
export const momentText = (at: string): string => (Number.isNaN(Date.parse(at)) ? at : absolute.format(Date.parse(at)));

/**
 * A time relative to now. The tooltip and screen readers get the absolute time. `exact`: the absolute time is shown. A text that
 * is not a time is shown as it is.
 */
export function Time({ at, exact = false }: { at: string; exact?: boolean }) {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return <bdi>{plain(at)}</bdi>;
  if (exact) return <time dateTime={at}>{absolute.format(ms)}</time>;
  const seconds = Math.round((now.value - ms) / 1000);
  const text = Math.abs(seconds) < 5 ? "now" : seconds > 0 ? `${spanText(seconds)} ago` : `in ${spanText(-seconds)}`;
  return (
    <time dateTime={at} title={absolute.format(ms)}>
      {text}
    </time>
  );
}

/** Whether a time has passed; a component that asks is rendered again when it has. */
export const isPast = (at: string): boolean => Date.parse(at) <= now.value;

/** The time since a moment, updated continuously. */
export function Since({ at }: { at: string }) {
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return <bdi>{plain(at)}</bdi>;
  return <span title={absolute.format(ms)}>{spanText(Math.max(0, (now.value - ms) / 1000))}</span>;
}

/** `840 ms`, `3.2 s`, `4 min 10 s`. */
export function durationText(ms: number | null): string {
  if (ms === null) return "–";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export const countText = (count: number): string => count.toLocaleString("en");
/** `1 run`, `12 runs`, `10,000+ runs`, if there may be more than `count`. */
export const amountText = (count: number, [one, several]: readonly [string, string], atLeast = false): string =>
  `${countText(count)}${atLeast ? "+" : ""} ${count === 1 && !atLeast ? one : several}`;
const dollars = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
const cents = new Intl.NumberFormat("en", {
  style: "currency",
  currency: "USD",
  minimumSignificantDigits: 2,
  maximumSignificantDigits: 2,
});
/** US dollars, with more digits for small amounts. */
export function dollarText(amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return "–";
  return (amount !== 0 && Math.abs(amount) < 0.1 ? cents : dollars).format(amount);
}
