import { expect } from "vitest";
import type { JsonAnswer } from "./json-client.ts";
import type { Service } from "./service.ts";
import type { Receipt } from "./webhooks.ts";

export const path = "/api/webhook-mappings";
export interface Mapping {
  readonly id: number;
  readonly source: string;
  readonly auth: Record<string, unknown>;
}
export interface Refusal {
  readonly error: string;
}

/** Requests of mapping tests to a service. */
export const mappingsAt = (service: () => Service) => {
  const make = (mapping: object) => service().post<Mapping & Refusal>(path, mapping);
  return {
    make,
    made: async (mapping: object): Promise<Mapping> => {
      const { status, body } = await make(mapping);
      expect([status, body.error]).toEqual([201, undefined]);
      return body;
    },
    send: (to: string, payload: unknown, headers: Record<string, string> = {}): Promise<JsonAnswer<Receipt>> =>
      service().post<Receipt>(`/webhook/${to}`, JSON.stringify(payload), { headers }),
    signed: (payload: object, event: string) => service().webhook(payload, { event }),
  };
};
/** An event mapping for alpha. */
export const pull = (event_type: string, jq_filter: string | null, canonical_trigger: string) => ({
  source: "alpha",
  event_type,
  jq_filter,
  canonical_trigger,
});
export const triggersOf = ({ status, body }: JsonAnswer<Receipt>) => [status, body.canonical_triggers ?? body.status];
