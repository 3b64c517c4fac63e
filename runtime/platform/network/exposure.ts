import type { Config } from "../config.ts";
import { isLoopback } from "./networks.ts";

/** Who can reach the service, as it starts. */
export interface Exposure {
  readonly hostname: string;
  /** There are no API keys: anyone who can reach the address may do everything. */
  readonly open: boolean;
  /** Only this machine reaches it. */
  readonly local: boolean;
}

export function exposureOf(config: Pick<Config, "HOST">, open: boolean): Exposure {
  const hostname = config.HOST ?? (open ? "127.0.0.1" : "0.0.0.0");
  return { hostname, open, local: hostname === "localhost" || isLoopback(hostname) };
}
