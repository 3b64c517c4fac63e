import { createServer } from "node:http";
import { hashEmbedding } from "../../runtime/memory/local-embedding.ts";
import { openRaw } from "./memory-contenders.ts";
import { dimension } from "./memory-rows.ts";

/**
 * A minimal server for memories over HTTP: JSON, the vector of the text, one statement, JSON. Nothing is checked. Started as
 * `node test/bench/memory-minimal.ts <database>`, prints its port.
 */
const raw = openRaw(process.argv[2] ?? "", (text) => JSON.stringify(hashEmbedding(text, dimension)));

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { query, limit: _, ...body } = JSON.parse(Buffer.concat(chunks).toString());
  const answer = JSON.stringify(
    request.url === "/api/memory" ? await raw.insert(body) : await raw.search({ text: query, filter: body }),
  );
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(answer) }).end(answer);
});
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as { port: number }).port}\n`));
