import { isFunctionName, maxFunctionName, withPermittedCharacters } from "../llm/function-names.ts";
import { sha256Of } from "../platform/digest.ts";

/**
 * The name under which a tool is offered to the model: `alpha__add_comment` for `alpha.add_comment`, because function names may
 * not contain a dot. A name that would be too long or ambiguous is shortened and made unique by a hash of the whole.
 */
export function functionName(qualifiedName: string): string {
  const dot = qualifiedName.indexOf(".");
  const [provider, name] = [qualifiedName.slice(0, dot), qualifiedName.slice(dot + 1)];
  const plain = `${provider}__${name}`;
  const ambiguous = provider.includes("__") || provider.endsWith("_") || name.startsWith("_");
  return isFunctionName(plain) && !ambiguous ? plain : withHash(plain, qualifiedName);
}

/** A function name that begins with `text` and ends with a hash of `whole`. */
export function withHash(text: string, whole: string): string {
  const hash = sha256Of(whole).slice(0, 8);
  return `${withPermittedCharacters(text).slice(0, maxFunctionName - hash.length - 1)}_${hash}`;
}
