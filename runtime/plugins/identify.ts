import { type BuiltManifest, builtManifest, httpMethods, manifestError } from "@signalbox/sdk/manifest";
import { admitDeclared, Refusal } from "./admit.ts";
import { sha256Of } from "./bundle-cache.ts";
import type { Described } from "./sandbox/initialize.ts";

/**
 * The manifest of a plugin that was not built, from what its declaration says: its hosts with every method, its open routes. It names no
 * secrets, so its settings are readable for it. For modules that the operator names by their path.
 */
export function manifestOf({ plugin, contract, config, contributes }: Described, bytes: Uint8Array): BuiltManifest {
  const { id, version, sdk, about, needs, hosts } = plugin;
  // Before the rest: a plugin of another contract may declare what this host cannot read.
  admitDeclared({ id, version, sdk, needs, contract }, new Set());
  const used = Object.entries(contributes).flatMap(([kind, all]) => (Object.keys(all).length > 0 ? [kind] : []));
  const why = "its declaration names it";
  const parsed = builtManifest.safeParse({
    ...{ manifest: 1, id, version, sdk, needs, contract, config, contributes },
    ...(about && { about }),
    kinds: used.length > 0 ? used : ["tools"],
    bundle: { sha256: sha256Of(bytes), bytes: bytes.byteLength },
    permissions: {
      http: needs.includes("fetch") ? hosts.map((host) => ({ host, methods: [...httpMethods], why })) : [],
      open_routes: Object.entries(contributes.routes).flatMap(([name, { scope }]) => (scope === "open" ? [{ name, why }] : [])),
    },
  });
  if (parsed.success) return parsed.data;
  throw new Refusal("BAD_MANIFEST", `${id}: ${manifestError(parsed.error)}`);
}
