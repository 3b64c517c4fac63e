import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { kinds, pack, unpack } from "./packed.ts";
import { payloads1 } from "./payloads-1.ts";
import { prompts1 } from "./prompts-1.ts";

const bytes = (text: string) => Buffer.from(text);

test("a JSON text is read as it was written, packed or not", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 4, stringUnit: "grapheme" }), fc.constantFrom("payload", "prompt"), (text, kind) => {
      const packed = pack(kind as keyof typeof kinds, bytes(text));
      expect(Buffer.from(unpack(packed ?? bytes(text))).toString()).toBe(text);
      if (packed) expect(packed.length).toBeLessThan(bytes(text).length);
    }),
  );
});

test("a text that is not packed is read as it is", () => {
  for (const text of ["", "{}", "\t1", JSON.stringify("x".repeat(197)), JSON.stringify("x".repeat(200_000))]) {
    expect(pack("payload", bytes(text))).toBeUndefined();
    expect(Buffer.from(unpack(bytes(text))).toString()).toBe(text);
  }
});

test("a text with an unknown dictionary, or a damaged one, is an error, not another text", () => {
  const packed = pack("prompt", bytes(prompt.text)) as Buffer;
  expect(() => unpack(Buffer.concat([Buffer.of(8), packed.subarray(1)]))).toThrow(
    "The text is packed with dictionary 8, which this release does not have. Run the release that stored it.",
  );
  expect(() => unpack(packed.subarray(0, -9))).toThrow("unexpected end of file");
});

/** Texts with the bytes to which Node 24 packed them. */
const payload = {
  text: '{"action":"opened","issue":{"number":7,"title":"Crash on save","user":{"login":"ada","type":"User"},"state":"open","labels":[],"assignees":[],"body":"The editor crashes – always."},"repository":{"name":"app","full_name":"octo/app","private":false},"sender":{"login":"ada"}}',
  packed:
    "AavGN1gGG8sxR4zlOBclFmco5OcpFCeWwRYqIA/sJKYkovWKazG7o0gzH2hTKNBOUEhGqgJomj2/SCEZZGFqscKjhskKiTnliZXFekq1OHociQUFaJ2O/OSSfH2IMGrnA+QqWBjAR6VAjq+tBQA=",
};
const prompt = {
  text: '{"messages":[{"role":"system","content":"You are an agent that works on issues."},{"role":"user","content":"The editor crashes – always. The editor crashes when I save a file. The editor crashes when I save a file with a long name."}]}',
  packed:
    "Aqsmtr8JbwPlQRpr0Ponvyi7GJT6wTYTSqWgNJCSWZJfpJBclFickVqs8KhhskJiTnliZbGeAjiJoEqDi0lPhWJQbCaCm05EKoNkoESFnPy8dHCk6ynVxtYCAA==",
};
const texts = [payload.text, prompt.text];

test("Node and Deno read what either packed", async () => {
  const read = ({ packed }: typeof payload) => Buffer.from(unpack(Buffer.from(packed, "base64"))).toString();
  expect([payload, prompt].map(read)).toEqual(texts);

  const script = `
    import { Buffer } from "node:buffer";
    import { pack, unpack } from "${new URL("./packed.ts", import.meta.url)}";
    const given = ${JSON.stringify([payload, prompt])};
    const read = given.map(({ packed }) => Buffer.from(unpack(Buffer.from(packed, "base64"))).toString());
    const packed = ["payload", "prompt"].map((kind, n) => pack(kind, Buffer.from(given[n].text)).toString("base64"));
    console.log(JSON.stringify({ read, packed }));`;
  const deno = new URL("../../../node_modules/.bin/deno", import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(deno, ["eval", script], { env: { ...process.env, NO_COLOR: "1" } });
  const onDeno = JSON.parse(stdout) as { read: string[]; packed: string[] };
  expect(onDeno.read).toEqual(texts);
  expect(onDeno.packed.map((packed) => read({ text: "", packed }))).toEqual(texts);
}, 60_000);

// A changed dictionary would make stored payloads and prompts unreadable. A better one is added with a new number.
test("dictionaries never change", () => {
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  expect([digest(payloads1), digest(prompts1), kinds]).toEqual([
    "6e6a53d20c5c1c2ea7e3b86ab88820129b3cf08cf4a64ca7ed01c7dfabada9ce",
    "1cc21b0df0296011ab151d8582c530c9967708d05b5380cad3dc26de5b264719",
    { payload: 1, prompt: 2 },
  ]);
});
