/** A person opens an issue, and the platform is about to tell of it. */
export interface Opened {
  /** As people write it: `acme/webshop#42`, `APP-1`. */
  readonly name: string;
  readonly by: string;
  readonly title: string;
  readonly webhook: {
    /** As the platform calls it. */
    readonly event: string;
    readonly payload: unknown;
    /** Headers of this very body, proof of its sender included. */
    headers(body: string, delivery: string): Record<string, string>;
    /** What the proof is. */
    readonly proof: string;
  };
}

export interface Remark {
  readonly by: string;
  readonly text: string;
}

/** Where an issue of the use case may be moved to. */
export type Station = "in progress" | "closed";

/** A stand-in for a platform, and what the story does with it. */
export interface Platform {
  readonly source: string;
  readonly url: string;
  /** What it serves, in a word or two. */
  readonly about: string;
  /** Variables by which Signalbox finds it and posts there. */
  readonly settings: Readonly<Record<string, string>>;
  openIssue(): Promise<Opened>;
  /** A person moves an issue on; where the platform plays the use case. */
  move?(name: string, to: Station): Promise<Opened>;
  /** The comments at an issue, that of the story where none is named, by the platform's own API. */
  remarks(name?: string): Promise<readonly Remark[]>;
  /** How a person would look at them. */
  readonly look: () => string;
  close(): Promise<void>;
}

/** JSON from a platform's API. Throws where it is refused. */
export async function ask<T>(url: string, headers: Readonly<Record<string, string>>, body?: unknown): Promise<T> {
  const request = body === undefined ? { headers } : post(headers, body);
  const response = await fetch(url, request);
  if (!response.ok) throw new Error(`The tracker answered ${response.status} for ${url}: ${await response.text()}`);
  return (await response.json()) as T;
}

const post = (headers: Readonly<Record<string, string>>, body: unknown) => ({
  method: "POST",
  headers: { ...headers, "content-type": "application/json" },
  body: JSON.stringify(body),
});
