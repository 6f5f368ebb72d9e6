import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { pipeline } from "node:stream/promises";
import type { Duplex, Readable } from "node:stream";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { z } from "zod";
import { createExpositionReader, expositionSchema } from "./exposition-reader.ts";

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
  const response = await ask(request.url, request.acceptEncoding ?? "identity");
  if (response.statusCode !== 200) throw new Error(`a scrape got HTTP ${response.statusCode}`);
  const reader = createExpositionReader({ countSeries: request.countSeries ?? false });
  const encoding = response.headers["content-encoding"] ?? "identity";
  const read = async (chunks: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of chunks) reader.push(chunk);
  };
  const decoder = createDecoder(encoding);
  await (decoder
    ? pipeline(response, decoder, read)
    : pipeline<Readable, typeof read>(response, read));
  return { ...reader.end(), ms: performance.now() - startedMs, encoding };
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
