import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { CallError } from "../api/call.ts";
import { type Right, rights } from "../api/session.ts";
import { nameIn } from "./text.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const opener = document.activeElement;
    element.current?.showModal();
    // A browser begins with what can be focused first, which may be a list that scrolls.
    if (!document.activeElement?.matches("input, select, textarea, button"))
      element.current?.querySelector<HTMLElement>(".buttons button")?.focus();
    // The opener may be enabled, or removed, in the same rendering.
    return () => void setTimeout(() => returnFocus(opener));
  }, []);
  return (
    <dialog ref={element} aria-labelledby="dialog-title" onClose={onClose}>
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

/**
 * Returns the focus to the element that had it before a dialog, or before the element was disabled: a browser does so only if a
 * dialog is closed before it is removed. If the element no longer exists, for example because a proposal is decided, the focus
 * moves to the content and not to the start of the page.
 */
export function returnFocus(opener: Element | null): void {
  if (document.activeElement !== document.body) return;
  if (opener instanceof HTMLElement) opener.focus();
  if (document.activeElement === document.body) document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
}

interface Action {
  /** Label of the button: `Restart`. */
  readonly label: string;
  /** What the action is about, if the page has several of these buttons: it completes their names for screen readers. */
  readonly of?: string;
  /** What the action does, and whether it can be undone. If absent, the action runs without confirmation. */
  readonly confirm?: ComponentChildren;
  readonly run: () => Promise<unknown>;
  /** Shown after the action. */
  readonly done?: string;
  readonly kind?: "primary" | "danger" | "plain";
  /** Without this right of the user, the button is disabled. */
  readonly needs?: Right;
  readonly disabled?: boolean;
  /** Why the button is disabled. */
  readonly why?: string;
}

const missingRight: Readonly<Record<Right, string>> = {
  write: "Your key is read-only.",
  admin: "This requires a key with the admin scope.",
};

/** A button that explains its action before running it, and shows its result. */
export function ActionButton({ label, of, confirm, run, done, kind = "plain", needs, ...others }: Action) {
  const [isOpen, setOpen] = useState(false);
  const [state, setState] = useState<{ busy: boolean; error?: string; done?: string }>({ busy: false });
  const perform = async () => {
    const pressed = document.activeElement;
    setState({ busy: true });
    try {
      await run();
      setState(done ? { busy: false, done } : { busy: false });
      setOpen(false);
      // The dialog returns the focus itself.
      if (isOpen) return;
    } catch (error) {
      setState({ busy: false, error: error instanceof CallError ? error.message : String(error) });
    }
    // Some browsers do not focus a button that is clicked.
    if (pressed !== document.body) setTimeout(() => returnFocus(pressed));
  };
  const lacks = needs !== undefined && !rights.value[needs];
  const { disabled = false, why } = lacks ? { disabled: true, why: missingRight[needs] } : others;
  const press = () => (confirm ? setOpen(true) : void perform());
  const errorText = state.error && (
    <p role="alert" class="refused">
      {state.error}
    </p>
  );
  return (
    <span class="action">
      <button
        type="button"
        class={kind}
        disabled={disabled || state.busy}
        title={disabled ? why : undefined}
        aria-label={nameIn(label, of)}
        onClick={press}
      >
        {label}
      </button>
      <span role="status" class="done">
        {state.done}
      </span>
      {!isOpen && errorText}
      {isOpen && (
        <Dialog title={`${label}?`} onClose={() => setOpen(false)}>
          <div class="dialog-text">{confirm}</div>
          {errorText}
          <div class="buttons">
            <button type="button" class={kind === "plain" ? "primary" : kind} disabled={state.busy} onClick={perform}>
              {label}
            </button>
            <button type="button" class="quiet" onClick={() => setOpen(false)}>
              Go back
            </button>
          </div>
        </Dialog>
      )}
    </span>
  );
}
