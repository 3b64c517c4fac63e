import { randomBytes } from "node:crypto";
import type { Manifest } from "@signalbox/sdk/manifest";
import type { Mask } from "./contributions.ts";

/** Values that a plugin works with and never sees: it holds a stand-in, the host knows what it stands for. */
export interface StandIns {
  /** Settings as the plugin is handed them. */
  readonly mask: Mask;
  /** Puts credentials into the headers of a request to `host`, where the manifest says so. */
  inject(host: string, headers: Headers): void;
  /** Text in which a value stands as its stand-in: an answer may repeat what it was sent. */
  hide(text: string): string;
  readonly hides: () => boolean;
}

/** So many accounts at one platform have their own values; older ones are forgotten. */
const most = 10_000;

/** `own`: the plugin's own settings, whose credentials are put in where it names none. */
export function createStandIns(
  secrets: Manifest["secrets"],
  own: () => Readonly<Record<string, unknown>> = () => ({}),
): StandIns {
  const values = new Map<string, { name: string; value: string }>();
  const standing = new Map<string, string>();
  const standInFor = (name: string, value: string): string => {
    const known = standing.get(`${name}\0${value}`);
    if (known) return known;
    const made = `signalbox-secret-${randomBytes(16).toString("hex")}`;
    if (values.size >= most) {
      const [oldest, one] = values.entries().next().value as [string, { name: string; value: string }];
      values.delete(oldest);
      standing.delete(`${one.name}\0${one.value}`);
    }
    values.set(made, { name, value });
    standing.set(`${name}\0${value}`, made);
    return made;
  };
  const hidden = (name: string) => Object.hasOwn(secrets, name) && secrets[name]?.inject !== undefined;
  return {
    mask: (settings) =>
      Object.fromEntries(
        Object.entries(settings).map(([name, value]) => [
          name,
          hidden(name) && typeof value === "string" && value !== "" ? standInFor(name, value) : value,
        ]),
      ),
    inject: (host, headers) => {
      for (const [name, { inject }] of Object.entries(secrets)) {
        if (!inject?.hosts.includes(host)) continue;
        const given = headers.get(inject.name);
        const named = given?.match(/signalbox-secret-[0-9a-f]{32}/)?.[0];
        const found = named ? values.get(named) : undefined;
        const value = found?.name === name ? found.value : given === null ? own()[name] : undefined;
        if (typeof value === "string" && value !== "")
          headers.set(
            inject.name,
            inject.format.replace("{}", () => value),
          );
      }
    },
    hide: (text) => {
      let shown = text;
      for (const [standIn, { value }] of values) if (value.length >= 4) shown = shown.replaceAll(value, standIn);
      return shown;
    },
    hides: () => values.size > 0,
  };
}
