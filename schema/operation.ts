import { z } from "zod";
import type { ProblemCode } from "./problem.ts";

/**
 * One operation of the API, declared once. The HTTP routes and `openapi.json`, the gRPC services and `.proto` files, the
 * MCP tools and the commands of the command line are all derived from the list of operations.
 *
 * `http` decides where a member of `input` is sent: a `:name` in the path is a path parameter; the other members are query
 * parameters of GET and DELETE, and members of the JSON body of POST and PUT.
 */
export interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, S extends boolean = boolean> {
  /** `noun.verb`, for example `agents.create`: the `operationId`, and `signalbox agents create`. */
  readonly id: string;
  /** Method and path, for example `POST /api/agents/:id/capabilities`. `null`: not available over HTTP. */
  readonly http: `${HttpMethod} /${string}` | null;
  /** Service and method, for example `AgentService.CreateAgent`. `null`: not available over gRPC. */
  readonly rpc: `${string}.${string}` | null;
  /** What the operation does, verb first, without a full stop: `List agents`. */
  readonly summary: string;
  /** Details that the summary leaves out, such as effects and limits, in full sentences. `null`: none. */
  readonly description: string | null;
  readonly input: I;
  readonly output: O;
  /** HTTP status of a successful response. 204 has no body. */
  readonly status: 200 | 201 | 202 | 204;
  /** Errors that this operation can return, in addition to those that every operation can return. */
  readonly problems: readonly ProblemCode[];
  /** Scope that an API key needs. `open`: no key is needed, even if keys are configured. */
  readonly scope: Scope;
  /** Whether the output is a page, `{items, total}`. Over HTTP it is an array with the header `X-Total-Count`. */
  readonly paginated: boolean;
  /** gRPC only: whether the method streams, with `output` as one message of the stream. */
  readonly streaming: S;
  /** HTTP only: a second success status, for outputs that satisfy a condition. The body is the same. */
  readonly alternateStatus: AlternateStatus<O> | null;
  /**
   * HTTP only: schema of the data of one server-sent event, if the handler can respond with such events. The data of the last
   * event is the output, which is the whole response on other transports.
   */
  readonly serverSentEvents: z.ZodType | null;
  /** Whether an output is only a preview, so that nothing was changed. `null`: the operation has no preview. */
  readonly isPreview: ((output: z.output<O>) => boolean) | null;
  /** HTTP only: whether the last path parameter can be any text, even a literal segment of another operation's path. */
  readonly rawPathParameter: boolean;
}

export interface AlternateStatus<O extends z.ZodType> {
  readonly status: number;
  readonly when: (output: z.output<O>) => boolean;
}

export type HttpMethod = "GET" | "POST" | "PUT" | "DELETE";
/**
 * Scope that an API key must have. `open`: none. `agent`: the operation decides by the key that was sent, or by another
 * credential of the agent.
 */
export type Scope = "open" | "agent" | "read" | "write" | "admin";
export type Input<O extends Operation> = z.output<O["input"]>;
export type Output<O extends Operation> = z.input<O["output"]>;

type Declaration<I extends z.ZodObject, O extends z.ZodType, S extends boolean> = Pick<
  Operation<I, O>,
  "id" | "http" | "summary"
> &
  Partial<
    Pick<
      Operation<I, O, S>,
      | "description"
      | "rpc"
      | "status"
      | "problems"
      | "scope"
      | "streaming"
      | "alternateStatus"
      | "serverSentEvents"
      | "rawPathParameter"
      | "isPreview"
    >
  > & {
    input?: I;
    output?: O;
  };

const noInput = z.object({});
/** Output of an operation that returns nothing: 204 over HTTP, an empty message over gRPC. */
export const empty = z.object({});
export type Empty = typeof empty;

/** Declares an operation. Default: GET needs the scope `read`, other methods `write`; DELETE returns 204, other methods 200. */
export function operation<I extends z.ZodObject = typeof noInput, O extends z.ZodType = Empty, const S extends boolean = false>(
  declaration: Declaration<I, O, S>,
): Operation<I, O, S> {
  const { method } = httpRoute(declaration);
  const output = declaration.output ?? (empty as unknown as O);
  return Object.freeze({
    description: null,
    rpc: null,
    problems: [],
    scope: method === "GET" ? "read" : "write",
    streaming: false as S,
    alternateStatus: null,
    serverSentEvents: null,
    rawPathParameter: false,
    isPreview: null,
    ...declaration,
    input: declaration.input ?? (noInput as unknown as I),
    output,
    status: declaration.status ?? (method === "DELETE" ? 204 : 200),
    paginated: pages.has(output),
  });
}

const pages = new WeakSet<z.ZodType>();

/** Output of a list: one page of `items`, and the `total` number of items on all pages; `more` are further members of the page. */
export function pageOf<T extends z.ZodType, M extends z.ZodRawShape = Record<never, never>>(item: T, more?: M) {
  const page = z.object({ items: z.array(item), total: z.int(), ...(more as M) });
  pages.add(page);
  return page;
}

/** Input that every list accepts. */
export const paging = {
  limit: z.int().min(1).max(1000).default(50).describe("Maximum number of items to return. Default: 50."),
  offset: z.int().min(0).max(1_000_000_000).default(0).describe("Number of items to skip. Default: 0."),
};

/** Summary and description of an operation in one text. */
export const documentationOf = ({ summary, description }: Pick<Operation, "summary" | "description">): string =>
  description === null ? `${summary}.` : `${summary}. ${description}`;

/** Method, path and path parameters of an operation; POST and an empty path for one without HTTP. */
export function httpRoute(op: Pick<Operation, "http">): { method: HttpMethod; path: string; params: string[] } {
  const [method, path] = (op.http ?? "POST ").split(" ") as [HttpMethod, string];
  return { method, path, params: [...path.matchAll(/:(\w+)/g)].map((match) => match[1] as string) };
}
