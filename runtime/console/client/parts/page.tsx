import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { awaited, type Loaded } from "../api/query.ts";

interface PageProps {
  readonly title: ComponentChildren;
  /** For the tab of the browser, where `title` is no text. */
  readonly name?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** A page that waits for a slow answer is shown without it after this time. */
const maxWaitMs = 600;

/** Whether the first answers have arrived. A part that came later would move what someone is about to press. */
function useComplete(): boolean {
  const [complete, setComplete] = useState(false);
  useLayoutEffect(() => {
    const timer = setTimeout(() => setComplete(true), maxWaitMs);
    const look = () => awaited.peek() === 0 && setComplete(true);
    // The questions around this page are counted after it, those of a part once an answer has shown the part.
    queueMicrotask(look);
    const stop = awaited.subscribe((left) => {
      if (left === 0) setTimeout(look);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  return complete;
}

/** A page is shown once its parts have loaded, all at once. */
export function Page({ title, name, actions, children }: PageProps) {
  const complete = useComplete();
  const text = name ?? (typeof title === "string" ? title : "Signalbox");
  useEffect(() => {
    document.title = `${text} · Signalbox`;
  }, [text]);
  return (
    <>
      {!complete && <Waiting lines={8} />}
      <div hidden={!complete}>
        <header class="page-head">
          <h1>{title}</h1>
          {actions && <div class="buttons">{actions}</div>}
        </header>
        {children}
      </div>
    </>
  );
}

interface ShownProps<T> {
  readonly query: Loaded<T>;
  readonly children: (data: T) => ComponentChildren;
  /** Lines that the answer will take, roughly. */
  readonly lines?: number;
}

/** What was loaded; before that as many grey lines, and after a failure why. */
export function Shown<T>({ query, children, lines = 4 }: ShownProps<T>) {
  const { data, error } = query;
  return (
    <>
      {error && (
        <p role="alert" class="refused">
          {error.message}
        </p>
      )}
      {data !== undefined ? children(data) : !error && <Waiting lines={lines} />}
    </>
  );
}

/** As many grey lines as the answer will take, roughly. */
export function Waiting({ lines }: { lines: number }) {
  return (
    <div class="waiting" aria-busy="true" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

/** Nothing is here: why, and what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div>{children}</div>}
    </div>
  );
}

export function Section({ title, aside, children }: { title: string; aside?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="section">
      <div class="section-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}
