import { randomBytes } from "node:crypto";
import { connectionHeader, type Manifest } from "@signalbox/sdk/manifest";
import type { Mask } from "./caller.ts";

/** Secrets that a plugin uses without seeing them: it receives a placeholder, and only the host knows the value. */
export interface Placeholders {
  /** Settings as the plugin receives them. */
  readonly mask: Mask;
  /** Adds credentials to the headers of a request to `host`, if the manifest names them for it. */
  inject(host: string, headers: Headers): void;
  /** Replaces values in a text with their placeholders, because a response may repeat the request. */
  hide(text: string): string;
  readonly hides: () => boolean;
}

/** Maximum number of placeholders; the oldest are dropped. */
const maxValues = 10_000;

/** `own`: the plugin's own settings, whose secrets are used in requests without a placeholder. */
export function createPlaceholders(
  secrets: Manifest["secrets"],
  own: () => Readonly<Record<string, unknown>> = () => ({}),
): Placeholders {
  const values = new Map<string, { name: string; value: string }>();
  const placeholders = new Map<string, string>();
  const placeholderFor = (name: string, value: string): string => {
    const known = placeholders.get(`${name}\0${value}`);
    if (known) return known;
    const substitute = `signalbox-secret-${randomBytes(16).toString("hex")}`;
    if (values.size >= maxValues) {
      const [oldest, one] = values.entries().next().value as [string, { name: string; value: string }];
      values.delete(oldest);
      placeholders.delete(`${one.name}\0${one.value}`);
    }
    values.set(substitute, { name, value });
    placeholders.set(`${name}\0${value}`, substitute);
    return substitute;
  };
  const isInjected = (name: string) => Object.hasOwn(secrets, name) && secrets[name]?.inject !== undefined;
  return {
    mask: (settings) =>
      Object.fromEntries(
        Object.entries(settings).map(([name, value]) => [
          name,
          isInjected(name) && typeof value === "string" && value !== "" ? placeholderFor(name, value) : value,
        ]),
      ),
    inject: (host, headers) => {
      for (const [name, { inject }] of Object.entries(secrets)) {
        // A manifest that was stored before such headers were refused may still contain one.
        if (!inject?.hosts.includes(host) || connectionHeader.test(inject.name)) continue;
        const headerValue = headers.get(inject.name);
        const named = headerValue?.match(/signalbox-secret-[0-9a-f]{32}/)?.[0];
        const found = named ? values.get(named) : undefined;
        const value = found?.name === name ? found.value : headerValue === null ? own()[name] : undefined;
        if (typeof value !== "string" || value === "") continue;
        // A new value may be used before the process has restarted with its placeholder. From now on, it is hidden too.
        placeholderFor(name, value);
        headers.set(
          inject.name,
          inject.format.replace("{}", () => value),
        );
      }
    },
    hide: (text) => {
      let shown = text;
      for (const [placeholder, { value }] of values) if (value.length >= 4) shown = shown.replaceAll(value, placeholder);
      return shown;
    },
    hides: () => values.size > 0,
  };
}
