/** An opened issue and the webhook that the platform is about to send. */
export interface Opened {
  /** For people: `acme/webshop#42`, `APP-1`. */
  readonly name: string;
  readonly by: string;
  readonly title: string;
  readonly webhook: {
    /** The platform's name of the event. */
    readonly event: string;
    readonly payload: unknown;
    /** Headers for this body, including the proof of its sender. */
    headers(body: string, delivery: string): Record<string, string>;
    /** Description of the proof. */
    readonly proof: string;
  };
}

export interface Remark {
  readonly by: string;
  readonly text: string;
}

/** States that an issue of the use case can be moved to. */
export type Station = "in progress" | "closed";

/** A simulated tracker and the actions of the story on it. */
export interface Platform {
  readonly source: string;
  readonly url: string;
  /** The API that it serves. */
  readonly about: string;
  /** Environment variables of Signalbox for this tracker. */
  readonly settings: Readonly<Record<string, string>>;
  openIssue(): Promise<Opened>;
  /** Moves an issue as a person would; absent if the platform does not support the use case. */
  move?(name: string, to: Station): Promise<Opened>;
  /** The comments on an issue, read from the platform's API. Default: the issue of the story. */
  remarks(name?: string): Promise<readonly Remark[]>;
  /** How a person can read them. */
  readonly look: () => string;
  close(): Promise<void>;
}

/** Requests JSON from a platform's API. Throws if the status is not 2xx. */
export async function ask<T>(url: string, headers: Readonly<Record<string, string>>, body?: unknown): Promise<T> {
  const request = body === undefined ? { headers } : post(headers, body);
  const response = await fetch(url, request);
  if (!response.ok) throw new Error(`the tracker returned ${response.status} to ${url}: ${await response.text()}`);
  return (await response.json()) as T;
}

const post = (headers: Readonly<Record<string, string>>, body: unknown) => ({
  method: "POST",
  headers: { ...headers, "content-type": "application/json" },
  body: JSON.stringify(body),
});
