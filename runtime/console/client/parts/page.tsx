import type { ComponentChildren } from "preact";
import { useEffect, useErrorBoundary, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CallError } from "../api/call.ts";
import { isConnected } from "../api/live.ts";
import { type LoadState, pendingFirstResponses } from "../api/query.ts";
import type { Remedy } from "../remedies.ts";
import { Link } from "../route/link.tsx";
import { place } from "../route/location.ts";

interface PageProps {
  readonly title: ComponentChildren;
  /** Title of the browser tab, if `title` is not a string. */
  readonly name?: string;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** After this time, a page is shown even if a response is missing. */
const maxWaitMs = 600;

/** Whether the first responses have arrived. A part that appears later would move what a user is about to click. */
function useComplete(): boolean {
  const [complete, setComplete] = useState(false);
  useLayoutEffect(() => {
    const timer = setTimeout(() => setComplete(true), maxWaitMs);
    const look = () => pendingFirstResponses.peek() === 0 && setComplete(true);
    // Requests of the surrounding components are counted after this effect, and those of a nested part after a response has
    // rendered it.
    queueMicrotask(look);
    const stop = pendingFirstResponses.subscribe((left) => {
      if (left === 0) setTimeout(look);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, []);
  return complete;
}

/** A page that appears as a whole once all of its parts have loaded. */
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

interface QueryResultProps<T> {
  readonly query: LoadState<T>;
  readonly children: (data: T) => ComponentChildren;
  /** Approximate number of lines of the content. */
  readonly lines?: number;
}

/** The loaded content. Before that, as many grey lines; after a failure, the reason. */
export function QueryResult<T>({ query, children, lines = 4 }: QueryResultProps<T>) {
  const { data, error } = query;
  return (
    <>
      {error && <Failed error={error} isOld={data !== undefined} />}
      {data !== undefined ? (
        <Guarded>
          <Content data={data} of={children} />
        </Guarded>
      ) : (
        (!error || error.status === 0) && <Waiting lines={lines} />
      )}
    </>
  );
}

/** A component of its own, so that the boundary around it also catches what `of` throws. */
const Content = <T,>({ data, of }: { data: T; of: (data: T) => ComponentChildren }) => <>{of(data)}</>;

/** A boundary: if the children cannot be shown, a sentence replaces them until another address is opened, and the rest remains. */
export function Guarded({ children }: { children: ComponentChildren }) {
  const [error, reset] = useErrorBoundary((fault) => console.error(fault));
  const currentPlace = place.value;
  const lastShown = useRef(currentPlace);
  useEffect(() => {
    if (lastShown.current === currentPlace) return;
    lastShown.current = currentPlace;
    if (error) reset();
  }, [error, reset, currentPlace]);
  if (!error) return <>{children}</>;
  return (
    <div role="alert">
      <Empty title="This part of the page could not be displayed.">
        <p>The rest of the console still works. See the browser console for the cause.</p>
        <button type="button" onClick={() => location.reload()}>
          Reload
        </button>
      </Empty>
    </div>
  );
}

/** Why there is no answer. That the service does not answer at all is shown once, above the page. */
function Failed({ error, isOld }: { error: CallError; isOld: boolean }) {
  const { status, message } = error;
  if (status === 0 && !isConnected.value) return null;
  if (!isOld && (status === 404 || /must be a UUID/.test(message)))
    return (
      <Empty title={status === 404 ? message : "There is nothing at this address."}>
        It may have been removed by retention, or the address is incomplete. <Link to="issues">Find the issue</Link>
      </Empty>
    );
  if (!isOld && status === 403)
    return <Empty title="Your key does not have access to this page.">Log in with a key that has the required scope.</Empty>;
  return (
    <p role="alert" class="refused">
      {message}
    </p>
  );
}

/** Grey lines in place of content that is loading. */
function Waiting({ lines }: { lines: number }) {
  return (
    <div class="waiting" aria-busy="true" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} />
      ))}
    </div>
  );
}

/** What to do next, and the way there. */
export function NextStep({ next, remedy = null }: { next: string; remedy?: Remedy | null }) {
  return (
    <p class="soft">
      {next} {remedy?.open && <Link to={remedy.open[0]}>{remedy.open[1]}</Link>}
    </p>
  );
}

/** Explains why a list is empty, and what to do next. */
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
      <Guarded>{children}</Guarded>
    </section>
  );
}
