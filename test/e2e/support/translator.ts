import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { startPeer } from "../../service/peer.ts";

/** How a scraper asks for each format. */
export const formats = {
  text: "text/plain;version=0.0.4",
  openmetrics: "application/openmetrics-text;version=1.0.0",
} as const;

/** Passes scrapes on, asking for a format of its own. Keeps which formats were answered. */
export async function startTranslator(address: string, accept: string) {
  const types = new Set<string | null>();
  const pass = async (path = "", response: ServerResponse): Promise<void> => {
    const answer = await fetch(address + path, { headers: { accept } });
    const type = answer.headers.get("content-type");
    types.add(type);
    response.writeHead(answer.status, { "content-type": type ?? "" });
    if (answer.body) await pipeline(Readable.fromWeb(answer.body), response);
  };
  const { baseUrl: url } = await startPeer(({ url: path }, response) => {
    pass(path, response).catch(() => response.destroy());
  });
  return { types, url };
}
