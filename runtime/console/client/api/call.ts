import { type Operations, routes } from "../../../../schema/gen/client.ts";
import { base } from "../route/location.ts";
import { isConnected } from "./live.ts";

type OperationId = keyof Operations;
export type InputOf<Id extends OperationId> = Operations[Id]["input"];
export type OutputOf<Id extends OperationId> = Operations[Id]["output"];

/** An operation was refused, or the service did not respond (`status` 0). */
export class CallError extends Error {
  override readonly name = "CallError";
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly total: number;
  /** More items exist than `total`. */
  readonly atLeast: boolean;
  /** Cursor of the next page; null on the last one. */
  readonly next: string | null;
}

type ItemOf<T> = T extends readonly (infer Item)[] ? Item : never;
type PagedId = { [Id in OperationId]: OutputOf<Id> extends readonly unknown[] ? Id : never }[OperationId];

/** Runs an operation. Throws a `CallError`. */
export async function call<Id extends OperationId>(id: Id, input: InputOf<Id>, signal?: AbortSignal): Promise<OutputOf<Id>> {
  const response = await send(id, input as Record<string, unknown>, signal);
  return (response.status === 204 ? null : await jsonOf(response)) as OutputOf<Id>;
}

/** Runs a list operation, and also returns the number of items. */
export async function list<Id extends PagedId>(
  id: Id,
  input: InputOf<Id>,
  signal?: AbortSignal,
): Promise<Page<ItemOf<OutputOf<Id>>>> {
  const response = await send(id, input as Record<string, unknown>, signal);
  const items = (await jsonOf(response)) as ItemOf<OutputOf<Id>>[];
  const total = response.headers.get("x-total-count") ?? String(items.length);
  return {
    items,
    total: Number.parseInt(total, 10),
    atLeast: total.endsWith("+"),
    next: response.headers.get("x-next-cursor"),
  };
}

async function send(id: OperationId, input: Record<string, unknown>, signal?: AbortSignal): Promise<Response> {
  const [method = "GET", pattern = ""] = routes[id].split(" ");
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined && value !== ""));
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(rest.get(name) ?? "");
    rest.delete(name);
    return encodeURIComponent(value);
  });
  const inBody = method === "POST" || method === "PUT";
  const query = inBody ? "" : new URLSearchParams([...rest].map(([name, value]) => [name, String(value)])).toString();
  return request(method, `${path.slice(1)}${query && `?${query}`}`, inBody ? Object.fromEntries(rest) : undefined, signal);
}

/** A frozen service accepts connections but does not answer. Its answers to GET take a few seconds at most. */
const maxAnswerMs = 30_000;
const notResponding = "The service is not responding. It may be restarting. This page keeps retrying.";

/** Sends a request to the service. `path` has no leading slash. */
export async function request(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const late = method === "GET" ? [AbortSignal.timeout(maxAnswerMs)] : [];
  let response: Response;
  try {
    response = await fetch(`${base}${path}`, {
      method,
      credentials: "same-origin",
      signal: AbortSignal.any([...late, ...(signal ? [signal] : [])]),
      ...(body !== undefined && { headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) }),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    isConnected.value = false;
    throw new CallError(0, notResponding);
  }
  isConnected.value = true;
  if (response.ok) return response;
  const answer = (await response.json().catch(() => null)) as { error?: string } | null;
  throw new CallError(response.status, answer?.error ?? `The service returned ${response.status}.`);
}

/** The body of an answer. Throws a `CallError`. */
export async function jsonOf(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch (error) {
    // For example its login page, after its session has ended.
    if (error instanceof SyntaxError)
      throw new CallError(0, "A proxy answered instead of the service. Reload this page: the proxy may require a new login.");
    // The page that asked was left.
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    isConnected.value = false;
    throw new CallError(0, notResponding);
  }
}
