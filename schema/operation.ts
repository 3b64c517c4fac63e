import { z } from "zod";
import type { ProblemCode } from "./problem.ts";

/**
 * One operation, declared once. From the list of all operations come the HTTP routes and `openapi.json`,
 * the gRPC services and `gateway.proto`, the MCP tools and the verbs of the command line.
 *
 * Where a member of `input` travels over HTTP follows from `http`: a `:name` of the path is a path parameter;
 * the rest is the query of GET and DELETE, and the JSON body of POST and PUT.
 */
export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, S extends boolean = boolean> {
  /** `noun.verb`, for example `agents.create`: the `operationId`, and `signalbox agents create`. */
  readonly id: string;
  /** Method and path, for example `POST /api/agents/:id/capabilities`. `null`: not offered over HTTP. */
  readonly http: `${HttpMethod} /${string}` | null;
  /** Service and method, for example `AgentService.CreateAgent`. `null`: not offered over gRPC. */
  readonly rpc: `${string}.${string}` | null;
  /** One sentence for the reference, starting with a verb. */
  readonly summary: string;
  readonly input: I;
  readonly output: O;
  /** HTTP status of success. 204 has no body. */
  readonly status: 200 | 201 | 202 | 204;
  /** Problems that this operation may answer with, beside those that every operation shares. */
  readonly problems: readonly ProblemCode[];
  /** What an API key must allow. `open`: served without a key even where keys are configured. */
  readonly scope: Scope;
  /** The output is a page: `{items, total}`. Over HTTP a plain array with `X-Total-Count`. */
  readonly paginated: boolean;
  /** gRPC: the output is one message of a server stream. */
  readonly streaming: S;
  /** HTTP only: some outputs are answered with another status, with the same body. */
  readonly alternateStatus: AlternateStatus<O> | null;
  /**
   * HTTP only: the handler may answer with server-sent events in place of its output; this is the data of one of them. The
   * data of the last one is the output, which is all that is answered where there are no such events.
   */
  readonly serverSentEvents: z.ZodType | null;
  /** HTTP only: the last path parameter may be any text, even one that stands literally in the path of another operation. */
  readonly rawPathParameter: boolean;
}

export interface AlternateStatus<O extends z.ZodType> {
  readonly status: number;
  readonly when: (output: z.output<O>) => boolean;
}

export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";
export type Scope = "open" | "read" | "write" | "admin";
export type Input<O extends Operation> = z.output<O["input"]>;
export type Output<O extends Operation> = z.input<O["output"]>;

type Declaration<I extends z.ZodObject, O extends z.ZodType, S extends boolean> = Pick<
  Operation<I, O>,
  "id" | "http" | "summary"
> &
  Partial<
    Pick<
      Operation<I, O, S>,
      "rpc" | "status" | "problems" | "scope" | "streaming" | "alternateStatus" | "serverSentEvents" | "rawPathParameter"
    >
  > & {
    input?: I;
    output?: O;
  };

const noInput = z.object({});
/** The answer of an operation without one: 204 over HTTP, an empty message over gRPC. */
export const empty = z.object({});
export type Empty = typeof empty;

/** Declares an operation. Defaults: POST and the rest need `write`, GET `read`; DELETE answers 204, everything else 200. */
export function operation<I extends z.ZodObject = typeof noInput, O extends z.ZodType = Empty, const S extends boolean = false>(
  declared: Declaration<I, O, S>,
): Operation<I, O, S> {
  const { method } = httpRoute(declared);
  const output = declared.output ?? (empty as unknown as O);
  return Object.freeze({
    rpc: null,
    problems: [],
    scope: method === "GET" ? "read" : "write",
    streaming: false as S,
    alternateStatus: null,
    serverSentEvents: null,
    rawPathParameter: false,
    ...declared,
    input: declared.input ?? (noInput as unknown as I),
    output,
    status: declared.status ?? (method === "DELETE" ? 204 : 200),
    paginated: pages.has(output),
  });
}

const pages = new WeakSet<z.ZodType>();

/** The output of a list: one page of `items`, and the `total` of all pages. */
export function pageOf<T extends z.ZodType>(item: T): z.ZodObject<{ items: z.ZodArray<T>; total: z.ZodInt }> {
  const page = z.object({ items: z.array(item), total: z.int() });
  pages.add(page);
  return page;
}

/** What every list takes. */
export const paging = {
  limit: z.int().min(1).max(1000).default(50).describe("At most this many items."),
  offset: z.int().min(0).max(1_000_000_000).default(0).describe("How many items to pass over."),
};

/** Method, path and path parameters of an operation; of one without HTTP, those of a POST to nowhere. */
export function httpRoute(op: Pick<Operation, "http">): { method: HttpMethod; path: string; params: string[] } {
  const [method, path] = (op.http ?? "POST ").split(" ") as [HttpMethod, string];
  return { method, path, params: [...path.matchAll(/:(\w+)/g)].map((match) => match[1] as string) };
}
