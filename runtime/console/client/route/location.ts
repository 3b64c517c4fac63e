import { computed, signal } from "@preact/signals";

/** Path of the service, with a slash at the end. */
export const base = document.querySelector<HTMLMetaElement>('meta[name="signalbox-base"]')?.content ?? "/";

/** Path below `console/`, without slashes at the ends, and the query. */
interface Place {
  readonly path: string;
  readonly query: URLSearchParams;
}

const readPlace = (): Place => {
  const { pathname, search } = window.location;
  const below = pathname.startsWith(base) ? pathname.slice(base.length) : pathname.slice(1);
  return { path: below.replace(/^console(\/|$)/, "").replace(/\/+$/, ""), query: new URLSearchParams(search) };
};

export const place = signal<Place>(readPlace());
export const query = computed(() => place.value.query);
addEventListener("popstate", () => {
  const before = place.value.path;
  place.value = readPlace();
  if (place.value.path !== before) focusContent();
});

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** Address of a page of the console. Members without a value are left out. */
export function pageUrl(path: string, members: Query = {}): string {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(entries.map(([name, value]) => [name, String(value)])).toString();
  return `${base}console/${path}${search && `?${search}`}`;
}

/** Shows another page, or the same page with another query. `replace`: adds no entry to the browser's history. */
export function navigate(url: string, { replace = false }: { replace?: boolean } = {}): void {
  const before = place.value.path;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  place.value = readPlace();
  if (place.value.path === before) return;
  scrollTo(0, 0);
  focusContent();
}

/** Another page begins at its content: the link that opened it no longer exists. */
const focusContent = () => document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });

/** The same page with other filters; null removes one. */
export function setQuery(members: Query): void {
  const { path, query } = place.value;
  navigate(pageUrl(path, { ...Object.fromEntries(query), ...members }), { replace: true });
}
