import type { ComponentChildren } from "preact";
import { query, setQuery } from "../route/location.ts";

/** Another filter begins with the newest items again. */
const position = { cursor: null, offset: null };

/** Filters of a list, stored in the address of the page. */
export function Filters({ children }: { children: ComponentChildren }) {
  const set = [...query.value.keys()].some((name) => !Object.hasOwn(position, name));
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()}>
      {children}
      {set && (
        <button
          type="button"
          class="quiet"
          onClick={() => setQuery(Object.fromEntries([...query.value.keys()].map((name) => [name, null])))}
        >
          Clear filters
        </button>
      )}
    </form>
  );
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
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        value={query.value.get(name) ?? ""}
        placeholder={placeholder}
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
function Moment({ name, label }: { name: string; label: string }) {
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
