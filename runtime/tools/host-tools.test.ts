import { tool } from "@signalbox/sdk";
import { expect, test } from "vitest";
import { z } from "zod";
import { hostTools } from "./host-tools.ts";

const about = "Notes.";
const note = tool({ about, effect: "read", input: z.object({}), output: z.unknown(), run: () => ({}) });
const told = (parameters: Record<string, unknown>, sandboxed = true) => {
  const entry = { qualifiedName: "p.note", provider: "p", name: "note", tool: note, source: null, parameters, sandboxed };
  const [made] = hostTools({ tools: new Map([["p.note", entry as never]]) }, new Set());
  return made;
};

test("a schema that model APIs refuse is offered in a form that they accept, and still checked", () => {
  const rubbish = {
    type: "object",
    properties: { text: { type: "string", minLength: "many" }, "": { type: "no such type" }, späte: true, self: { $ref: "#" } },
    required: ["text", 5],
    patternProperties: "x",
  };
  const made = told(rubbish);
  expect(made?.parameters).toMatchObject({ type: "object", properties: { text: { type: "string" } }, required: ["text"] });
  expect(JSON.stringify(made?.parameters)).not.toMatch(/no such type|many|\$ref|patternProperties|späte/);
  expect(() => made?.parse({})).toThrow(/is required/);
  expect(made?.parse({ text: "a", späte: 1 })).toEqual({ text: "a", späte: 1 });
  expect(told({ properties: 5, required: "x", type: "string" })?.parameters).toEqual({ type: "object", properties: {} });
});
test("a valid schema is offered unchanged", () => {
  const schema = z.toJSONSchema(z.object({ text: z.string().max(9).describe("It."), to: z.enum(["a", "b"]).optional() }), {
    io: "input",
  });
  const { $schema: _, ...plain } = schema;
  expect(told(schema as never)?.parameters).toEqual(plain);
});
