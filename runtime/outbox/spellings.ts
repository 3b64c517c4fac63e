/** The other spellings of a secret that a text may contain, as letters and digits in lower case: see `plainOf`. */
export function spellingsOf(value: string): string[] {
  const bytes = Buffer.from(value, "utf8");
  const codes = [...bytes];
  const hex = (prefix: string) => codes.map((code) => prefix + code.toString(16).padStart(2, "0")).join("");
  const base64 = bytes.toString("base64");
  const spellings = [
    hex(""),
    hex("x"),
    hex("0x"),
    hex("u00"),
    codes.join(""),
    codes.map((code) => `x${code.toString(16)}`).join(""),
    [...value].map((sign) => sign.codePointAt(0)).join(""),
    base32(bytes),
    Buffer.from(base64).toString("base64"),
    ...[0, 1, 2].map((offset) => shiftedBase64(bytes, offset)),
  ];
  return [...new Set(spellings.map(plainOf))].filter((spelling) => spelling.length >= 12);
}

/** Letters and digits of a text in lower case, so that other characters between them have no effect. */
export const plainOf = (text: string): string => text.replace(/[^A-Za-z0-9]/g, "").toLowerCase();

export const reverse = (text: string): string => [...text].reverse().join("");

export const rot13 = (text: string): string =>
  text.replace(/[A-Za-z]/g, (letter) => {
    const base = letter <= "Z" ? 65 : 97;
    return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base);
  });

/** Base64 of a value at each offset within an encoded text, without the characters that depend on neighbouring bytes. */
function shiftedBase64(bytes: Buffer, offset: number): string {
  const base64Text = Buffer.concat([Buffer.alloc(offset), bytes]).toString("base64");
  const first = Math.ceil((offset * 8) / 6);
  const last = Math.floor(((offset + bytes.length) * 8) / 6);
  return base64Text.slice(first, last);
}

function base32(bytes: Buffer): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  return (bits.match(/.{5}/g) ?? []).map((five) => alphabet[Number.parseInt(five, 2)]).join("");
}
