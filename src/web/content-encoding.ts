import { constants, createGzip, createZstdCompress } from "node:zlib";
import type { Transform } from "node:stream";
import { parsePreferences } from "./preferences.ts";

export type ContentEncoding = "zstd" | "gzip" | "identity";

/**
 * How a body is to be packed for a request's Accept-Encoding: zstd, which costs least, where it is
 * liked no less than gzip. Whoever takes anything (`*`) is given gzip, which everyone knows.
 */
export function chooseEncoding(acceptEncoding: string | undefined): ContentEncoding {
  const preferences = parsePreferences(acceptEncoding);
  const qualityOf = (name: string): number | undefined =>
    preferences.find(({ value }) => value === name)?.quality;
  const zstd = qualityOf("zstd") ?? 0;
  const gzip = qualityOf("gzip") ?? qualityOf("*") ?? 0;
  // Unless it is named, it is what is taken when there is nothing else.
  const identity = qualityOf("identity") ?? 0;
  if (zstd > 0 && zstd >= Math.max(gzip, identity)) return "zstd";
  return gzip > 0 && gzip >= identity ? "gzip" : "identity";
}

const chunkSize = 64 * 1_024;

/** Compresses on libuv's threads, as lightly as the format allows. Null: nothing to do. */
export function createCompressor(encoding: ContentEncoding): Transform | null {
  switch (encoding) {
    case "zstd":
      return createZstdCompress({
        chunkSize,
        params: { [constants.ZSTD_c_compressionLevel]: 1 },
      });
    case "gzip":
      return createGzip({ chunkSize, level: 1 });
    case "identity":
      return null;
  }
}
