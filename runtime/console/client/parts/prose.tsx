import { Link } from "../route/link.tsx";
import { plain } from "./text.tsx";
import { Time } from "./time.tsx";

/** Strangers write into reasons, so what looks like a time may be none: `2026-99-99T99:99:99Z`. */
const isTime = (text = "") => /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
const parts =
  /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|execution [0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/;

/** A reason or verdict of the service: its times are relative, and its runs are links. */
export function Prose({ text, max = 600 }: { text: string; max?: number }) {
  const short = text.length > max ? `${text.slice(0, max)}…` : text;
  return (
    <bdi>
      {plain(short)
        .split(parts)
        .map((part, index, all) => {
          if (index % 2 === 0) return isTime(all[index + 1]) ? part.replace(/\bat $/, "") : part;
          if (isTime(part)) return <Time key={index} at={part} exact={/\buntil $/.test(all[index - 1] ?? "")} />;
          if (!part.startsWith("execution ")) return part;
          return (
            <Link key={index} to={`run/${part.slice("execution ".length)}`}>
              another run
            </Link>
          );
        })}
    </bdi>
  );
}

/** What a run waits for, as a sentence. The service says it in a few words: `a free worker`, `project 3 is paused: moving`. */
export const waitSentence = (waitingFor: string): string => {
  const text = waitingFor.replace(/\.+$/, "");
  return text.includes(" is paused: ") ? `${text[0]?.toUpperCase()}${text.slice(1)}.` : `It is waiting for ${text}.`;
};
