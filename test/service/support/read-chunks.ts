import type { ListingIntake } from "../../../src/core/listing-intake.ts";
import type { ListedSandbox } from "../../../src/core/model.ts";
import type { Deviation } from "../../../src/service/deviations.ts";
import { createDeviations } from "../../../src/service/deviations.ts";
import { parseJson } from "../../../src/service/json.ts";
import {
  createListingMemory,
  type ListingMemory,
} from "../../../src/service/listing/listing-memory.ts";
import { ListingReader, type ListingOutcome } from "../../../src/service/listing/listing-reader.ts";
import { loadBodyHash } from "../../../src/service/listing/body-hash.ts";
import { type CollectingIntake, createCollectingIntake } from "./collecting-intake.ts";
import { parseListing } from "./whole-parse.ts";

const beginBodyHash = await loadBodyHash();

export function createMemory(): ListingMemory {
  return createListingMemory(beginBodyHash);
}

/** The body in pieces of these sizes, over and over; of one piece without any. */
export function cutBody(body: Buffer, sizes: readonly number[]): readonly Buffer[] {
  const chunks: Buffer[] = [];
  for (let at = 0, next = 0; at < body.length; next++) {
    const size = sizes[next % sizes.length] ?? body.length;
    // A copy: what stands behind a chunk in memory is not to be read.
    chunks.push(Buffer.from(body.subarray(at, at + size)));
    at += size;
  }
  return chunks;
}

/** Feeds a reader as a connection does: each chunk once the one before is read. */
export function readChunks(
  chunks: readonly Buffer[],
  intake: ListingIntake,
  memory: ListingMemory = createMemory(),
): ListingOutcome {
  const reader = new ListingReader(intake, memory);
  for (const chunk of chunks) {
    reader.push(chunk);
    while (reader.advance() === "busy") continue;
    if (reader.outcome) return reader.outcome;
  }
  reader.end();
  while (reader.advance() === "busy") continue;
  if (!reader.outcome) throw new TypeError("the reader never ends");
  return reader.outcome;
}

export type Reading =
  | "refused"
  | {
      readonly sandboxes: readonly ListedSandbox[];
      readonly complete: boolean;
      readonly deviations: readonly string[];
    };

/** What a body says when it is read in chunks. */
export function chunkReading(
  chunks: readonly Buffer[],
  intake: CollectingIntake = createCollectingIntake(),
  memory?: ListingMemory,
): Reading {
  const outcome = readChunks(chunks, intake, memory);
  if (outcome.kind === "refused") return "refused";
  const { complete, deviations } = outcome;
  return { sandboxes: intake.sandboxes(), complete, deviations: inOrder(deviations) };
}

/** What the same body says when it is parsed as a whole. */
export function wholeReading(body: Uint8Array): Reading {
  const parsed = parseJson(body);
  if (parsed.kind !== "json") return "refused";
  const deviations = createDeviations();
  const listing = parseListing(parsed.value, deviations);
  return listing ? { ...listing, deviations: inOrder(deviations.list()) } : "refused";
}

function inOrder(deviations: readonly Deviation[]): readonly string[] {
  return deviations
    .map((each) => JSON.stringify([each.field, each.problem, each.count]))
    .toSorted();
}
