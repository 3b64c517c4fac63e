import type { ComponentChildren } from "preact";
import { navigate, pageUrl, type Query } from "./location.ts";

interface LinkProps {
  readonly to: string;
  readonly query?: Query;
  readonly class?: string;
  /** Whether it is the current page. */
  readonly current?: boolean;
  /** Name for screen readers, if its text does not tell it from the other links. */
  readonly name?: string | undefined;
  readonly children: ComponentChildren;
}

/** A link to a page of the console. It works in a new tab, too. */
export function Link({ to, query, class: classes, current = false, name, children }: LinkProps) {
  const href = pageUrl(to, query);
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a class={classes ?? ""} href={href} aria-current={current ? "page" : undefined} aria-label={name} onClick={follow}>
      {children}
    </a>
  );
}

/** A link to a tracker. An address that is not http or https is shown as text. */
export function External({ url, name, children }: { url: string; name?: string | undefined; children: ComponentChildren }) {
  if (!/^https?:\/\//i.test(url)) return <span>{children}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" aria-label={name}>
      {children}
    </a>
  );
}
