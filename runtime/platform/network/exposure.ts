import type { Config } from "../config.ts";
import { isLoopback } from "./networks.ts";

/** Who can reach the service, determined at its start. */
export interface Exposure {
  readonly hostname: string;
  /** There are no API keys: everyone who can reach the address has full access. */
  readonly open: boolean;
  /** Only this machine can reach it. */
  readonly local: boolean;
}

export function exposureOf(config: Pick<Config, "HOST">, open: boolean): Exposure {
  const hostname = config.HOST ?? (open ? "127.0.0.1" : "0.0.0.0");
  return { hostname, open, local: hostname === "localhost" || isLoopback(hostname) };
}
