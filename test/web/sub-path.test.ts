import { request as sendRequest } from "node:http";
import { expect, it } from "vitest";
import { z } from "zod";
import { startPeer } from "../service/peer.ts";
import { watchWorld } from "../support/watched-world.ts";

const prefix = "/sandwatch";

/** A reverse proxy that serves the upstream below a path, and nothing else. */
async function startProxy(upstream: string): Promise<string> {
  const { hostname, port } = new URL(upstream);
  const { baseUrl } = await startPeer((request, response) => {
    const { url = "", method, headers } = request;
    if (!url.startsWith(`${prefix}/`)) return void response.writeHead(404).end("outside");
    const path = url.slice(prefix.length);
    const forwarded = sendRequest({ hostname, port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(forwarded);
  });
  return `${baseUrl}${prefix}/`;
}

it("behind a proxy at a sub-path the links of the page and of the API's document stay below it", async () => {
  const world = await watchWorld();
  await world.poll();
  const base = await startProxy(await world.address());
  const page = await (await fetch(base)).text();
  const links = Array.from(page.matchAll(/(?:href|src)="([^"]*)"/g), ([, link]) => link ?? "");
  expect(links).toEqual(expect.arrayContaining(["status-page.css", "metrics", "-/ready"]));
  for (const link of links) {
    const response = await fetch(new URL(link, base), { redirect: "manual" });
    expect([response.url.startsWith(base), response.status]).toEqual([true, 200]);
    await response.arrayBuffer();
  }
  const location = new URL("api/openapi.json", base);
  const document: unknown = await (await fetch(location)).json();
  const { servers } = z.object({ servers: z.array(z.object({ url: z.string() })) }).parse(document);
  const root = new URL(servers[0]?.url ?? "", location).href.replace(/\/$/, "");
  expect((await fetch(`${root}/api/v1/targets`)).status).toBe(200);
});
