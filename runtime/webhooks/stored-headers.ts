import { isSecretHeader } from "../platform/secret-names.ts";

type Headers = Readonly<Record<string, string>>;

interface RecordedHeaders {
  /** The same headers, to pass to the source. */
  readonly headers: Headers;
  /** Names of the headers that were read so far, whether or not they exist. */
  readonly names: ReadonlySet<string>;
  /** The headers that were read so far, without credentials. */
  read(): Record<string, string>;
}

/** Records which headers a source reads, so that only these are stored with the event. */
export function recordReads(headers: Headers): RecordedHeaders {
  const names = new Set<string>();
  const note = (name: string | symbol) => {
    if (typeof name === "string") names.add(name);
  };
  const recordingHeaders = new Proxy(headers, {
    get: (target, name, receiver) => {
      note(name);
      return Reflect.get(target, name, receiver);
    },
    has: (target, name) => {
      note(name);
      return Reflect.has(target, name);
    },
    getOwnPropertyDescriptor: (target, name) => {
      note(name);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  });
  return { headers: recordingHeaders, names, read: () => withoutSecrets(headers, (name) => names.has(name)) };
}

/** For a sandboxed source, whose reads cannot be seen: the `x-` headers, without credentials. */
export const extensionHeaders = (headers: Headers, credential?: string): Record<string, string> =>
  withoutSecrets(headers, (name) => name.startsWith("x-") && name !== credential?.toLowerCase());

/** The headers with these names, without those that may carry a credential. */
export const withoutSecrets = (headers: Headers, isWanted: (name: string) => boolean): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => isWanted(name) && !isSecretHeader(name)));
