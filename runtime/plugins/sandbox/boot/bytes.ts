/** Converts bytes to Base64 and back, with a stack of constant size. */
export function toBase64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let i = 0; i < bytes.byteLength; i += 32_768) parts.push(String.fromCharCode(...bytes.subarray(i, i + 32_768)));
  return btoa(parts.join(""));
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return bytes;
}
