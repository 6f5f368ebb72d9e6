import type { IncomingHttpHeaders } from "node:http";
import type { Transform } from "node:stream";
import { constants, createGzip, createZstdCompress } from "node:zlib";
import Negotiator from "negotiator";

export interface ExpositionFormat {
  readonly syntax: "text" | "openmetrics";
  readonly contentType: string;
}

const text = "text/plain; version=0.0.4";

/** In the order of preference where a request has none. */
const formats = [
  text,
  "application/openmetrics-text; version=1.0.0",
  "application/openmetrics-text; version=0.0.1",
];

/** The format that Accept prefers. Default: the text format, which everything can read. */
export function chooseFormat({ accept }: Pick<IncomingHttpHeaders, "accept">): ExpositionFormat {
  // Prometheus 3 states how names are to be escaped. No name here needs it.
  const headers = { accept: accept?.replaceAll(/;\s*escaping=[^;,]*/g, "") };
  const format = new Negotiator({ headers }).mediaType(formats) ?? text;
  return {
    syntax: format.startsWith("text/") ? "text" : "openmetrics",
    contentType: `${format}; charset=utf-8`,
  };
}

const chunkSize = 64 * 1_024;

/** Compression runs on libuv's threads, as lightly as the format allows. */
const compressors: Readonly<Record<string, () => Transform>> = {
  zstd: () => createZstdCompress({ chunkSize, params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  gzip: () => createGzip({ chunkSize, level: 1 }),
};

interface ContentEncoding {
  /** Empty for `identity`. */
  readonly headers: { readonly "content-encoding"?: string };
  /** Null: the body is sent as it is. */
  readonly createCompressor: (() => Transform) | null;
}

/** The encoding that Accept-Encoding prefers; of equals the first. A client that accepts anything gets gzip. */
export function chooseEncoding(headers: IncomingHttpHeaders): ContentEncoding {
  const name = new Negotiator({ headers }).encoding(["gzip", "zstd", "identity"]) ?? "identity";
  const createCompressor = compressors[name] ?? null;
  return { headers: createCompressor ? { "content-encoding": name } : {}, createCompressor };
}
