import { request as sendRequest } from "node:http";
import { startPeer } from "../../service/peer.ts";

const prefix = "/sandwatch";

/** A reverse proxy that serves the upstream below a path, and nothing else. */
export async function startPrefixProxy(upstream: string): Promise<string> {
  const { hostname, port } = new URL(upstream);
  const { baseUrl } = await startPeer((request, response) => {
    const { url = "", method, headers } = request;
    if (!url.startsWith(`${prefix}/`)) return void response.writeHead(404).end("outside");
    const path = url.slice(prefix.length);
    const forwarded = sendRequest({ hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
  });
  return `${baseUrl}${prefix}/`;
}
