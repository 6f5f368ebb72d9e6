import { createServer } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { onTestFinished } from "vitest";

/** How a scraper asks for each format. */
export const formats = {
  text: "text/plain;version=0.0.4",
  openmetrics: "application/openmetrics-text;version=1.0.0",
} as const;

/** Passes scrapes on, asking for a format of its own. Keeps which formats were answered. */
export async function startTranslator(address: string, accept: string) {
  const types = new Set<string | null>();
  const server = createServer((request, response) => {
    const pass = async (): Promise<void> => {
      const answer = await fetch(`${address}${request.url}`, { headers: { accept } });
      const type = answer.headers.get("content-type");
      types.add(type);
      response.writeHead(answer.status, { "content-type": type ?? "" });
      if (answer.body) await pipeline(Readable.fromWeb(answer.body), response);
    };
    pass().catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const bound = server.address();
  const port = typeof bound === "object" && bound ? bound.port : 0;
  return { types, url: `http://127.0.0.1:${port}` };
}
