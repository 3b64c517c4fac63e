import { lookup as systemLookup } from "node:dns";
import type { LookupFunction } from "node:net";
import { Problem, problem } from "@signalbox/schema/problem";
import { Agent, buildConnector, fetch as undiciFetch } from "undici";
import { raceTimeout } from "../abortable.ts";
import { boundedResponse } from "./bounded-response.ts";
import { isLoopback, isPublic, parseAddress, parseNetworks } from "./networks.ts";

interface GuardOptions {
  /** Networks (CIDR) that the service may contact although they are not public: `ALLOW_PRIVATE_ADDRESSES`. */
  readonly allowedNetworks: readonly string[];
  /** Whether it may contact this machine's own addresses: only while the service listens on loopback without API keys. */
  readonly loopback: boolean | (() => boolean);
  /** Resolves names. Default: the system's resolver. */
  readonly lookup?: LookupFunction;
}

/** Prevents requests to user-supplied URLs from reaching private networks. */
export interface Guard {
  /**
   * For input validation: throws the problem `bad_request`, naming the address, if `fetch` would refuse it. A name that cannot be
   * resolved now is accepted, because it is checked again at each fetch.
   */
  check(url: string): Promise<void>;
  /**
   * `fetch` that connects only to permitted addresses. It resolves the name once for each connection, including redirects, and
   * connects to the address that it has checked. Throws the problem `bad_request` for a refused one. The body of a response fails
   * after 64 MiB.
   */
  readonly fetch: typeof globalThis.fetch;
  close(): Promise<void>;
}

/** Maximum time that `check` waits for a name server, in milliseconds. */
const checkMs = 2_000;

export function createGuard(options: GuardOptions): Guard {
  const allowedNetworks = parseNetworks(options.allowedNetworks);
  const permits = (address: string) => {
    const loopback = typeof options.loopback === "function" ? options.loopback() : options.loopback;
    return isPublic(address) || allowedNetworks.has(address) || (loopback && isLoopback(address));
  };
  const lookup = checkedLookup(options.lookup ?? (systemLookup as LookupFunction), permits);
  const connect = buildConnector({ lookup, timeout: 10_000, autoSelectFamily: true });
  const agent = new Agent({
    connect: (target, done) => {
      // An address in place of a name is connected to without a lookup.
      const literal = withoutBrackets(target.hostname);
      if (parseAddress(literal) && !permits(literal)) done(refusal(literal, literal), null);
      else connect(target, done);
    },
  });
  return {
    check: (url) => check(url, permits, lookup),
    fetch: async (input, init) => {
      const request = input instanceof Request ? input : null;
      const url = parse(request ? request.url : String(input));
      try {
        const answer = await undiciFetch(url, { ...(request && fromRequest(request)), ...init, dispatcher: agent } as never);
        return boundedResponse(answer as unknown as Response, init?.signal ?? request?.signal);
      } catch (error) {
        throw problemIn(error) ?? error;
      }
    },
    close: () => agent.destroy(),
  };
}

/** The members of a `Request` of the runtime's own class, which undici's `fetch` does not accept. */
const fromRequest = (request: Request) => ({
  method: request.method,
  headers: Object.fromEntries(request.headers),
  redirect: request.redirect,
  signal: request.signal,
  ...(request.body && { body: request.body, duplex: "half" }),
});

function problemIn(error: unknown): Problem | null {
  for (let one = error; one instanceof Error; one = one.cause) if (one instanceof Problem) return one;
  return null;
}

const withoutBrackets = (hostname: string) => hostname.replace(/^\[|\]$/g, "");

function parse(text: string): URL {
  const shown = JSON.stringify(text.slice(0, 200));
  if (!URL.canParse(text)) throw problem("bad_request", `${shown} is not a URL such as https://example.com/mcp.`);
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:")
    throw problem("bad_request", `${shown} is not an http or https URL.`);
  if (url.username || url.password)
    throw problem(
      "bad_request",
      `The URL of ${url.host} contains a user name or password; send credentials in their own members.`,
    );
  return url;
}

async function check(text: string, permits: (address: string) => boolean, lookup: LookupFunction): Promise<void> {
  const hostname = withoutBrackets(parse(text).hostname);
  if (parseAddress(hostname)) {
    if (!permits(hostname)) throw refusal(hostname, hostname);
    return;
  }
  const resolved = new Promise<void>((done, fail) => {
    lookup(hostname, { all: true }, (error) => (error instanceof Problem ? fail(error) : done()));
  });
  await raceTimeout(resolved, checkMs, undefined);
}

/** Resolves a name and refuses it if any of its addresses is refused, because a name with both kinds is an attack. */
function checkedLookup(lookup: LookupFunction, permits: (address: string) => boolean): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      const addresses = found as { address: string; family: number }[];
      const refused = addresses.find(({ address }) => !permits(address));
      if (refused) return done(refusal(hostname, refused.address), []);
      const [first] = addresses;
      if (options.all || !first) done(null, addresses);
      else done(null, first.address, first.family);
    });
  };
}

const refusal = (host: string, address: string): Problem => {
  const what = host === address ? address : `${host} (${address})`;
  return problem(
    "bad_request",
    `${what} is not a public address, so it is not contacted. To permit its network, add it to ALLOW_PRIVATE_ADDRESSES.`,
  );
};
