import type { Config } from "../config.ts";
import { isLoopback } from "./networks.ts";

/** Who can reach the service, from its configuration. */
export interface Exposure {
  readonly hostname: string;
  /** No API key is configured: whoever reaches the address may do everything. */
  readonly open: boolean;
  /** Only this machine reaches it. */
  readonly local: boolean;
}

export function exposureOf(config: Pick<Config, "HOST" | "API_KEYS">): Exposure {
  const open = config.API_KEYS.length === 0;
  const hostname = config.HOST ?? (open ? "127.0.0.1" : "0.0.0.0");
  return { hostname, open, local: hostname === "localhost" || isLoopback(hostname) };
}
