import type { ComponentChildren } from "preact";
import { query, setQuery } from "../route/location.ts";

/** Filters of a list, which are in the address of the page. */
export function Filters({ children }: { children: ComponentChildren }) {
  const set = [...query.value.keys()].some((name) => name !== "before");
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

export function Choice({
  name,
  label,
  options,
}: {
  name: string;
  label: string;
  options: readonly (readonly [value: string, text: string])[];
}) {
  return (
    <label>
      <span>{label}</span>
      <select
        value={query.value.get(name) ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value, before: null })}
      >
        <option value="">any</option>
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
        onChange={(event) => setQuery({ [name]: event.currentTarget.value.trim(), before: null })}
        onKeyDown={(event) => event.key === "Enter" && setQuery({ [name]: event.currentTarget.value.trim(), before: null })}
      />
    </label>
  );
}
