import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import type { Dice } from "./dice.ts";
import type { Reaction, VirtualRequest } from "./virtual-network.ts";

/** In one or two pieces, as a network brings them. */
export function pieces(body: Uint8Array, dice: Dice): readonly Uint8Array[] {
  if (body.length === 0) return [];
  const cut = dice.between(1, body.length);
  return [body.subarray(0, cut), body.subarray(cut)].filter((piece) => piece.length > 0);
}

const encoders = { gzip: gzipSync, br: brotliCompressSync, deflate: deflateSync } as const;

/** The same answer, encoded as a client takes it. */
export function encode(reaction: Reaction, request: VirtualRequest, dice: Dice): Reaction {
  if (reaction.kind !== "answers" || reaction.chunks.length === 0) return reaction;
  const encoding = dice.pick(["gzip", "br", "deflate"] as const);
  const accepted = request.headers["accept-encoding"] ?? "";
  if (!accepted.split(/, */).includes(encoding) || dice.chance(0.2)) return reaction;
  const body = Buffer.concat(reaction.chunks.map((chunk) => Buffer.from(chunk)));
  const headers = { ...reaction.headers, "content-encoding": encoding };
  return { ...reaction, headers, chunks: pieces(encoders[encoding](body), dice) };
}
