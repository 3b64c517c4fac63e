import type { Operation } from "./document.ts";
import type { Sent, World } from "./world.ts";

/** Sets up what a status needs, and answers the request for it. */
export type Arrange = (world: World) => Sent | Promise<Sent>;

/** An operation's own cases, by status. `valid`: what succeeds; what can be made from it or from nothing is left out. */
export type Case = { readonly valid?: Arrange; readonly [status: number]: Arrange };
export type Cases = Readonly<Record<string, Case>>;

let last = 0;
/** A name that no other case uses. */
export const unique = (word: string): string => `${word}_${++last}`;

/** How an operation is made to answer with a status; `null` if no case says it. */
export function arrangementOf(op: Operation, status: number, own: Case = {}): Arrange | null {
  return own[status] ?? generic(op, own)[status]?.() ?? null;
}

/** What follows from an operation's shape. */
function generic(op: Operation, { valid }: Case): Record<number, () => Arrange | null> {
  const needsNothing = op.params.length === 0 && op.query.every(({ required }) => !required) && !needsBody(op);
  const success = valid ?? (needsNothing ? () => ({}) : null);
  const { scope, body } = op;
  return {
    [Math.max(...op.statuses.filter((status) => status < 300))]: () => success,
    400: () => () => senseless(op),
    401: () => (scope ? () => ({ ...absent(op), headers: {} }) : null),
    403: () => forbidden(op),
    404: () => (op.params.length > 0 && success ? async (world) => ({ ...(await success(world)), ...absent(op) }) : null),
    409: () => success && twice(op, success),
    413: () => (body ? () => ({ ...absent(op), body: JSON.stringify({ name: "x".repeat(1_048_577) }) }) : null),
    415: () =>
      body ? (world) => ({ ...absent(op), body: "{}", headers: { ...asAdmin(world), "content-type": "text/plain" } }) : null,
  };
}

const needsBody = ({ body }: Operation): boolean => Array.isArray(body?.required) && body.required.length > 0;
const asAdmin = ({ adminKey }: World) => ({ authorization: `Bearer ${adminKey}` });

/** Path parameters of nothing that exists. */
const absent = ({ params }: Operation): Sent => ({
  params: Object.fromEntries(
    params.map(({ name, schema }) => [
      name,
      schema.format === "uuid" ? "00000000-0000-7000-8000-000000000000" : schema.type === "integer" ? 2_000_000_000 : "nothing",
    ]),
  ),
});

/** A body that is none, else a path parameter that cannot be, else a query that cannot be. */
function senseless(op: Operation): Sent {
  if (op.body) return { ...absent(op), body: "[" };
  if (op.params.length > 0) return { params: Object.fromEntries(op.params.map(({ name }) => [name, "%00"])) };
  return op.query.some(({ name }) => name === "limit") ? { query: { limit: 0 } } : {};
}

/** A key that allows less; where every key allows it, a page of another site while there are no keys. */
const forbidden =
  (op: Operation): Arrange =>
  ({ readKey }) =>
    op.scope === null || op.scope === "read"
      ? { ...absent(op), at: "bare", headers: { origin: "https://elsewhere.example" } }
      : { ...absent(op), headers: { authorization: `Bearer ${readKey}` } };

/** What succeeded once is refused the second time. */
const twice =
  (op: Operation, success: Arrange): Arrange =>
  async (world) => {
    const sent = await success(world);
    await world.make(op.id, sent);
    return sent;
  };
