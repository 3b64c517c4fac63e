import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { CallError } from "../api/call.ts";
import { type Right, rights } from "../api/session.ts";
import { returnFocus } from "./dialog.tsx";

interface FormProps {
  /** Label of the button. */
  readonly label: string;
  readonly run: (values: FormData) => Promise<unknown>;
  readonly done?: string;
  /** Without this right of the user, the form is disabled. */
  readonly needs?: Right;
  readonly children: ComponentChildren;
  readonly aside?: ComponentChildren;
}

/** Fields with a button that submits them, and the result. */
export function Form({ label, run, done = "Saved", needs, children, aside }: FormProps) {
  const disabled = needs !== undefined && !rights.value[needs];
  const [state, setState] = useState<{ busy: boolean; error?: string; done?: boolean }>({ busy: false });
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const values = new FormData(event.currentTarget as HTMLFormElement);
    const active = document.activeElement;
    setState({ busy: true });
    try {
      await run(values);
      setState({ busy: false, done: true });
    } catch (error) {
      setState({ busy: false, error: error instanceof CallError ? error.message : String(error) });
    }
    if (active !== document.body) setTimeout(() => returnFocus(active));
  };
  return (
    <form class="fields" onSubmit={submit} onInput={() => state.done && setState({ busy: false })}>
      <fieldset disabled={disabled || state.busy}>{children}</fieldset>
      {state.error && (
        <p role="alert" class="refused">
          {state.error}
        </p>
      )}
      <div class="buttons">
        <button type="submit" class="primary" disabled={disabled || state.busy}>
          {label}
        </button>
        {aside}
        {disabled && <span class="hint">Your key does not allow changes.</span>}
        <span role="status" class="done">
          {state.done && done}
        </span>
      </div>
    </form>
  );
}

export const textOf = (values: FormData, name: string): string => String(values.get(name) ?? "").trim();
/** Lines of a field, without empty ones. */
export const linesOf = (values: FormData, name: string): string[] =>
  textOf(values, name)
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

/** The console has no list of projects. */
export const projectIdHint = "The number that signalbox projects list shows.";

interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly value?: string | number | null | undefined;
  readonly hint?: string;
  readonly type?: "text" | "password" | "number";
  readonly required?: boolean;
  readonly lines?: number;
  readonly placeholder?: string;
  /** Limits of a number. */
  readonly min?: number;
  readonly max?: number;
}

export function Field({ name, label, value, hint, type = "text", required = false, lines, placeholder, min, max }: FieldProps) {
  const id = useId();
  const text = String(value ?? "");
  // The hint describes the field and is not part of its name.
  const labelling = { id, "aria-labelledby": `${id}-name`, ...(hint && { "aria-describedby": `${id}-hint` }) };
  return (
    <label for={id}>
      <span id={`${id}-name`}>{label}</span>
      {lines ? (
        <textarea
          {...labelling}
          name={name}
          rows={lines}
          defaultValue={text}
          required={required}
          placeholder={placeholder}
          spellcheck={false}
        />
      ) : (
        <input
          {...labelling}
          name={name}
          type={type as "text"}
          defaultValue={text}
          required={required}
          placeholder={placeholder}
          autocomplete="off"
          step="any"
          min={min}
          max={max}
        />
      )}
      {hint && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
    </label>
  );
}

export function SelectField({
  name,
  label,
  value,
  options,
  onChange,
}: {
  name: string;
  label: string;
  value?: string | null | undefined;
  options: readonly (readonly [string, string])[];
  onChange?: (value: string) => void;
}) {
  return (
    <label>
      <span>{label}</span>
      <select
        name={name}
        defaultValue={value ?? options[0]?.[0] ?? ""}
        onChange={(event) => onChange?.(event.currentTarget.value)}
      >
        {options.map(([one, text]) => (
          <option key={one} value={one} selected={one === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
