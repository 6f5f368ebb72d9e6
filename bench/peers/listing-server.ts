import { createServer } from "node:http";
import { apiKey } from "./site.ts";
import { listingBodies } from "./listing-body.ts";

/**
 * The service, as a process of its own: two prepared bodies by turns, from memory. To the process that
 * forked it, it sends its port and then a message for each listing asked for.
 */
const [seed, servers, errorShare, changedShare] = process.argv.slice(2).map(Number);
const bodies = listingBodies({
  seed: seed ?? 1,
  servers: servers ?? 1_000,
  errorShare: errorShare ?? 0,
  changedShare: changedShare ?? 0,
});
let asked = 0;

const server = createServer((request, response) => {
  if (request.headers.authorization !== `Bearer ${apiKey}`) {
    response.writeHead(401).end();
    return;
  }
  process.send?.("asked");
  const body = bodies[asked % 2 === 0 ? 0 : 1];
  asked += 1;
  response
    .writeHead(200, { "content-type": "application/json", "content-length": body.length })
    .end(body);
}).listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address !== null && typeof address === "object") {
    process.send?.({ port: address.port, bytes: bodies[0].length });
  }
});

process.on("disconnect", () => process.exit());
