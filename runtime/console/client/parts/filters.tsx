import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Query } from "../api/query.ts";
import { query, setQuery } from "../route/location.ts";

/** Another filter begins with the newest items again, and with none open. */
const position = { cursor: null, offset: null, key: null };

interface FiltersProps {
  readonly children: ComponentChildren;
  /** What the list contains, as soon as it is known: `12 runs`. */
  readonly found: string | null;
}

/** Filters of a list, stored in the address of the page. After a change, screen readers say what the list contains. */
export function Filters({ children, found }: FiltersProps) {
  const filters = [...query.value].filter(([name]) => !Object.hasOwn(position, name));
  const announced = useAnnouncement(JSON.stringify(filters), found);
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {children}
      {filters.length > 0 && (
        <button
          type="button"
          class="quiet"
          onClick={() => setQuery(Object.fromEntries([...query.value.keys()].map((name) => [name, null])))}
        >
          Clear filters
        </button>
      )}
      <p class="sr" role="status">
        {announced}
      </p>
    </form>
  );
}

/** The text about a list, once it has loaded. */
export const foundIn = <T,>({ data, error, isFresh }: Query<T>, textOf: (data: T) => string): string | null =>
  data !== undefined && !error && isFresh ? textOf(data) : null;

/** An empty region that is filled is announced, even if the text is the same as before. */
const announceAfterMs = 100;

/** `found` after the user has changed `filters`. Live changes of the list are not announced, and neither is a page that opens. */
function useAnnouncement(filters: string, found: string | null): string | null {
  const announcedFilters = useRef(filters);
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    if (announcedFilters.current === filters) return;
    setText(null);
    if (found === null) return;
    const timer = setTimeout(() => {
      announcedFilters.current = filters;
      setText(found);
    }, announceAfterMs);
    return () => clearTimeout(timer);
  }, [filters, found]);
  return text;
}

interface ChoiceProps {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, text: string])[];
  /** The label for no selection. */
  readonly empty?: string;
}

export function Choice({ name, label, options, empty = "any" }: ChoiceProps) {
  return (
    <label>
      <span>{label}</span>
      <select
        value={query.value.get(name) ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value, ...position })}
      >
        <option value="">{empty}</option>
        {options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Takes effect when the field is left or Enter is pressed. */
export function Word({ name, label, placeholder }: { name: string; label: string; placeholder?: string }) {
  const value = query.value.get(name) ?? "";
  // What is being typed, which a live change of the page must not reset.
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        value={text}
        placeholder={placeholder}
        onInput={(event) => setText(event.currentTarget.value)}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim(), ...position })}
        onKeyDown={(event) => event.key === "Enter" && setQuery({ [name]: event.currentTarget.value.trim(), ...position })}
      />
    </label>
  );
}

/** The times between which the items of a list were created, as the operations take them. */
export const Period = () => (
  <>
    <Moment name="from" label="From" />
    <Moment name="to" label="To" />
  </>
);

/** A time to the minute. The field shows it in the reader's time zone, and the address contains it in UTC. */
export function Moment({ name, label }: { name: string; label: string }) {
  const set = (local: string) => {
    const at = Date.parse(local);
    // While a year is typed, its first digits are earlier years, and a fifth digit makes no time.
    if (local === "" || at >= 0) setQuery({ [name]: local && new Date(at).toISOString(), ...position });
  };
  return (
    <label>
      <span>{label}</span>
      <input
        type="datetime-local"
        value={localMinute(query.value.get(name) ?? "")}
        onChange={(event) => set(event.currentTarget.value)}
      />
    </label>
  );
}

/** `2026-01-31T10:30` in the reader's time zone; empty for a text that is not a time. */
function localMinute(at: string): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
