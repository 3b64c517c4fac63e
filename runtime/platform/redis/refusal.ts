/** A server that answers with one of these cannot be used now. */
const refusal =
  /^(LOADING|READONLY|MISCONF|NOREPLICAS|BUSY|CLUSTERDOWN|MASTERDOWN|TRYAGAIN|MOVED|OOM|NOAUTH|WRONGPASS|NOPERM|ERR ACL failure)\b/;

/** Whether the server answers, but refuses commands. */
export const isRefusal = (error: Error): boolean => refusal.test(error.message);

/** The server's refusal, or the code of a network error, for example `ECONNREFUSED`. */
export function reasonOf(error: unknown): string {
  const { code, message } = Object(error) as { code?: unknown; message?: unknown };
  if (typeof code === "string") return code;
  // The error of a script names the script.
  return String(message ?? error).replace(/\.?( script: .*)?$/s, "");
}

const cures: readonly (readonly [RegExp, string])[] = [
  [/\b(NOAUTH|WRONGPASS)\b/, "Correct the user name and the password in REDIS_URL, and then restart the service"],
  [/\bNOPERM\b/, "Allow the user of REDIS_URL all commands on its keys and channels"],
  [/\b(READONLY|MASTERDOWN)\b/, "The server is a replica: set REDIS_URL to its primary and restart the service, or promote it"],
  [/\bOOM\b/, "Raise maxmemory of the server, or remove what other programs keep there"],
  [/\bMISCONF\b/, "Redis cannot save its data: free space on its disk, and read its log"],
];

/** What to do about a failure, after its message; empty if Redis only has to be available again. */
export function redisCure(failure: string): string {
  const cure = cures.find(([pattern]) => pattern.test(failure))?.[1];
  return cure ? `. ${cure}` : "";
}
