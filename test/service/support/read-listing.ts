import { Buffer } from "node:buffer";
import { vi } from "vitest";
import { nextSnapshot } from "../../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot } from "../../../src/fleet/snapshot.ts";
import type { Snapshot } from "../../../src/fleet/snapshot.ts";
import { createListingReader } from "../../../src/service/listing-reader.ts";
import type { ReadListing } from "../../../src/service/listing-reader.ts";
import { sandbox } from "../wire.ts";

export const reader = await createListingReader();

export function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
}

export function outcomeOf(body: unknown, before: Snapshot = emptySnapshot, poll = 0) {
  return runAtOnce(reader.read(bytesOf(body), before, poll));
}

export function read(body: unknown, before: Snapshot = emptySnapshot, poll = 0): ReadListing {
  const outcome = outcomeOf(body, before, poll);
  if (outcome.kind === "refused") throw new Error(outcome.detail);
  return outcome;
}

/** Reads a body and takes it in. */
export function take(body: unknown, before: Snapshot = emptySnapshot, poll = 0): Snapshot {
  const observation = { atMs: 1, observedMs: 1, witnessed: true, goneAfter: 3 };
  return runAtOnce(nextSnapshot(before, read(body, before, poll).listing, observation));
}

export function inWords({ deviations }: Pick<ReadListing, "deviations">): readonly string[] {
  return deviations.map(({ field, problem, count }) => `${field} ${problem} ${count}`);
}

export const boxes = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => ({ ...sandbox, local_sandbox_id: `s${at}`, ...more }));

/** A poll at which none of the texts is due to be parsed again. */
export function quietPoll({ texts }: Snapshot): number {
  const due = new Set(texts.map((text) => text?.rereadAt));
  for (let poll = 0; ; poll += 1) if (!due.has(poll)) return poll;
}

/** How many texts are parsed, but for what is beside the sandboxes. */
export function countParsed(act: () => void): number {
  const parse = vi.spyOn(JSON, "parse");
  try {
    act();
    return parse.mock.calls.length - 1;
  } finally {
    parse.mockRestore();
  }
}
