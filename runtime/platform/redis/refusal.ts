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

/** What to do about a failure, after its message; empty if Redis only has to be available again. */
export const redisCure = (failure: string): string =>
  /\b(NOAUTH|WRONGPASS)\b/.test(failure)
    ? ". Correct the user name and the password in REDIS_URL, and then restart the service"
    : /\bNOPERM\b/.test(failure)
      ? ". Allow the user of REDIS_URL all commands on its keys and channels"
      : "";
