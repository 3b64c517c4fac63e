const form = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i;

/**
 * The JSON of a webhook that came as a form, in its field `payload`: the default of GitHub's webhooks. Any other body as it
 * is. Signatures are of the bytes that were sent.
 */
export function jsonOfForm(body: Uint8Array, headers: Readonly<Record<string, string | undefined>>): Uint8Array {
  if (!form.test(headers["content-type"] ?? "")) return body;
  const payload = new URLSearchParams(new TextDecoder().decode(body)).get("payload");
  return payload === null ? body : new TextEncoder().encode(payload);
}
