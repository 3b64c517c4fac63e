/**
 * Which names mark a value as a secret. Some words do in all places, others only in some, because elsewhere they have an ordinary
 * meaning: a header with `session` in its name is a secret, but a setting with that name is not.
 */
const words = ["secret", "token", "passw(?:or)?d", "passphrase", "credential", "api[_-]?key", "authorization"];
const anywhere = (...more: string[]): RegExp => new RegExp([...words, ...more].join("|"), "i");

const variable = anywhere("key", "database_url", "redis_url");
const member = anywhere("cookie");
const header = anywhere("auth", "cookie", "signature", "key", "pass", "session", "hmac");
const setting = new RegExp(`(?:${words.join("|")}|_key|keys)s?(?:_previous)?$`, "i");
const parameter = new RegExp(`(?:${words.join("|")})$`, "i");
/** Compared with the last word of a parameter's name: `?subscription_key=` has one, `?monkey=` does not. */
const lastWord = /^(?:key|sig|signature|pass|pwd|auth|credentials)$/i;
/** Parameters that are not secret despite their last word. */
const publicParameter = /^(?:project|issue|public|partition|sort|cache)[_-]?key$/i;

/** A parameter of the address of a database or Redis. */
export const isSecretInConnectionUrl = (parameter: string): boolean => variable.test(parameter) || isSecretParameter(parameter);

/** An environment variable whose value must never be shown. `BUDGET_RUN_TOKENS` is a number of tokens. */
export const isSecretVariable = (name: string): boolean => variable.test(name.replaceAll("_TOKENS", ""));

/**
 * A member of a stored object. Hiding too much of an audit log is better than too little, so the word may be anywhere in the
 * name.
 */
export const isSecretMember = (name: string): boolean => member.test(name);

/** A header of a request that may carry a credential. */
export const isSecretHeader = (name: string): boolean => header.test(name);

/**
 * A variable or a plugin's setting whose value must not appear in texts. The name must end with the word: `TOKEN_URL` is no
 * secret.
 */
export const isSecretSetting = (name: string): boolean => setting.test(name);

/**
 * A parameter of a query in the audit log. The words, `key` and `sig` included, may be anywhere in the name, as in `?key1=`;
 * `?assignee=` has neither.
 */
export const isSecretInAuditLog = (parameter: string): boolean =>
  isSecretMember(parameter) ||
  (/key|(?<!as|de)sig/i.test(parameter) && !publicParameter.test(parameter)) ||
  isSecretParameter(parameter);

/** A parameter of a URL's query, as in `?api_key=`, `?accessToken=` and `?sig=`. Its name may be percent-encoded. */
export function isSecretParameter(name: string): boolean {
  const plain = name.replace(/%([2-7][0-9a-f])/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
  if (publicParameter.test(plain)) return false;
  return parameter.test(plain) || lastWord.test(plain.split(/[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])/).at(-1) ?? "");
}
