import { expect, test } from "vitest";
import { FakeServer, type RecordedRequest } from "./index.ts";

class Echo extends FakeServer {
  protected route({ body }: RecordedRequest) {
    return { status: 200, body: { body } };
  }
}

test.each([
  ["", {}],
  ['{"a":1}', { body: { a: 1 } }],
  // The request for a token of OAuth.
  ["grant_type=refresh_token", { body: "grant_type=refresh_token" }],
])("the body %j is answered", async (sent, expected) => {
  const server = await new Echo().listen();
  const response = await fetch(server.url, { method: "POST", body: sent });
  expect(await response.json()).toEqual(expected);
  await server.close();
});
