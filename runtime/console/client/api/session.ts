import { computed, signal } from "@preact/signals";
import { jsonOf, request } from "./call.ts";

export type Scope = "agent" | "read" | "write" | "admin";

interface Session {
  /** `open`: the service has no API keys. */
  readonly state: "open" | "logged_in" | "login_needed";
  /** Name of the API key. */
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly version: string;
  /** `PUBLIC_URL` of the service. */
  readonly public_url: string | null;
}

/** The user of this page; null until the service has responded. */
export const session = signal<Session | null>(null);
/** Whether the service accepts this page's requests. */
export const isAdmitted = computed(() => session.value !== null && session.value.state !== "login_needed");
export const rights = computed(() => {
  const scopes = session.value?.scopes ?? [];
  return { write: scopes.includes("write"), admin: scopes.includes("admin") };
});
/** A scope that an action needs. */
export type Right = keyof typeof rights.value;

export async function readSession(): Promise<void> {
  const response = await request("GET", "console/session");
  session.value = (await jsonOf(response)) as Session;
}

export async function logIn(key: string): Promise<void> {
  const response = await request("POST", "console/session", { key });
  session.value = (await jsonOf(response)) as Session;
}

export async function logOut(): Promise<void> {
  await request("DELETE", "console/session");
  await readSession();
}
