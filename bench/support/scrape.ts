import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Duplex, Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { z } from "zod";
import { createExpositionReader, expositionSchema } from "./exposition-reader.ts";
import { readPlainBody } from "./plain-body.ts";

export const scrapeSchema = z.object({
  ...expositionSchema.shape,
  /** To the last byte. */
  ms: z.number(),
  encoding: z.string(),
});

export type Scrape = z.infer<typeof scrapeSchema>;

export const scrapeRequestSchema = z.object({
  url: z.string(),
  acceptEncoding: z.string().optional(),
  countSeries: z.boolean().optional(),
});

export type ScrapeRequest = z.infer<typeof scrapeRequestSchema>;

/** Scrapes as Prometheus would. Rejects unless the answer is whole and its status 200. */
export async function scrape(request: ScrapeRequest): Promise<Scrape> {
  const startedMs = performance.now();
  const { url, acceptEncoding = "identity" } = request;
  const reader = createExpositionReader({ countSeries: request.countSeries ?? false });
  const push = (bytes: Uint8Array): void => reader.push(bytes);
  const encoding =
    acceptEncoding === "identity"
      ? await readPlainBody(url, push).then(() => acceptEncoding)
      : await readPackedBody(url, acceptEncoding, push);
  return { ...reader.end(), ms: performance.now() - startedMs, encoding };
}

/** Gives the encoding that was chosen. */
async function readPackedBody(
  url: string,
  acceptEncoding: string,
  push: (bytes: Uint8Array) => void,
): Promise<string> {
  const response = await ask(url, acceptEncoding);
  if (response.statusCode !== 200) throw new Error(`a scrape got HTTP ${response.statusCode}`);
  const encoding = response.headers["content-encoding"] ?? "identity";
  const read = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of chunks) push(chunk);
  };
  const decoder = createDecoder(encoding);
  await (decoder
    ? pipeline(response, decoder, read)
    : pipeline<Readable, typeof read>(response, read));
  return encoding;
}

function ask(url: string, acceptEncoding: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { "accept-encoding": acceptEncoding };
    get(url, { agent: false, headers }, resolve).on("error", reject);
  });
}

function createDecoder(encoding: string): Duplex | null {
  switch (encoding) {
    case "gzip":
      return createGunzip();
    case "zstd":
      return createZstdDecompress();
    default:
      return null;
  }
}
