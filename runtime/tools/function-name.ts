import { sha256Of } from "../platform/digest.ts";

/** The function names that OpenAI-compatible APIs accept. */
const maxLength = 64;
const validName = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * The name under which a tool is offered to the model: `alpha__add_comment` for `alpha.add_comment`, because function names may
 * not contain a dot. A name that would be too long or ambiguous is shortened and made unique by a hash of the whole.
 */
export function functionName(qualifiedName: string): string {
  const dot = qualifiedName.indexOf(".");
  const [provider, name] = [qualifiedName.slice(0, dot), qualifiedName.slice(dot + 1)];
  const plain = `${provider}__${name}`;
  const ambiguous = provider.includes("__") || provider.endsWith("_") || name.startsWith("_");
  return validName.test(plain) && !ambiguous ? plain : withHash(plain, qualifiedName, maxLength);
}

/** `text` in at most `max` permitted characters, ending with a hash of `whole`. */
export function withHash(text: string, whole: string, max: number): string {
  const hash = sha256Of(whole).slice(0, 8);
  return `${text.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, max - hash.length - 1)}_${hash}`;
}
