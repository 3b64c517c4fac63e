import type { ComponentChildren } from "preact";
import { navigate, pageUrl, type Query } from "./location.ts";

interface LinkProps {
  readonly to: string;
  readonly query?: Query;
  readonly class?: string;
  /** Whether it is the current page. */
  readonly current?: boolean;
  readonly children: ComponentChildren;
}

/** A link to a page of the console. It works in a new tab, too. */
export function Link({ to, query, class: name, current = false, children }: LinkProps) {
  const href = pageUrl(to, query);
  const follow = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a class={name ?? ""} href={href} aria-current={current ? "page" : undefined} onClick={follow}>
      {children}
    </a>
  );
}

/** A link to a tracker. An address that is not http or https is shown as text. */
export function External({ url, children }: { url: string; children: ComponentChildren }) {
  if (!/^https?:\/\//i.test(url)) return <span>{children}</span>;
  return (
    <a href={url} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}
