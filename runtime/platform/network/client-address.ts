import { type Networks, parseAddress } from "./networks.ts";

/**
 * The client address of a request. `X-Forwarded-For` is read from the right, as long as the entries are from trusted proxies;
 * anyone could have written the entries further left. `null` if it is unknown.
 */
export function clientAddress(
  remote: string | undefined,
  forwardedFor: string | undefined,
  trustedProxies?: Networks,
): string | null {
  let address = withoutPort(remote ?? "");
  const hops = (forwardedFor ?? "").split(",").filter((hop) => hop.trim() !== "");
  while (address !== null && trustedProxies?.has(address)) {
    const hop = hops.pop();
    if (hop === undefined) break;
    address = withoutPort(hop);
  }
  return address;
}

/** Proxies write `192.0.2.7`, `192.0.2.7:4711`, `2001:db8::1`, `[2001:db8::1]` and `[2001:db8::1]:4711`. */
function withoutPort(text: string): string | null {
  const hop = text.trim();
  const bare = /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
  return parseAddress(bare)?.toString() ?? null;
}
