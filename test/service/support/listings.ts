import { Buffer } from "node:buffer";
import { vi } from "vitest";
import { nextSnapshot } from "../../../src/fleet/next-snapshot.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot } from "../../../src/fleet/snapshot.ts";
import type { Snapshot } from "../../../src/fleet/snapshot.ts";
import { createListingReader } from "../../../src/service/listing-reader.ts";
import type { ReadListing } from "../../../src/service/listing-reader.ts";

export const reader = await createListingReader();

/** An item of a listing as the service sends it. */
export const server = {
  id: "v1",
  server_name: "github",
  mcp_server_url: "https://host/github/mcp/?token=t",
  status: "occupied",
  benchmark: "MCP_Atlas",
  updated_at: "2026-02-16T12:45:25.770231-08:00",
  metadata: { anything: [1, { at: "all" }] },
  auth_data: { token: "t" },
  tags: ["prod"],
};
export const sandbox = {
  local_sandbox_id: "s1",
  created_at: "2026-02-16T12:45:25.770231-08:00",
  status: "idle",
  benchmark: null,
  servers: [server],
};

/** What is kept of them. */
export const listedServer = {
  id: "v1",
  name: "github",
  status: "occupied",
  benchmark: "MCP_Atlas",
  tags: ["prod"],
};
export const listedSandbox = {
  id: "s1",
  status: "idle",
  benchmark: null,
  createdAt: Date.UTC(2026, 1, 16, 20, 45, 25, 770),
  servers: [listedServer],
};

export function listing(sandboxes: readonly unknown[], totalCount = sandboxes.length) {
  return { local_sandboxes: sandboxes, total_count: totalCount };
}

/** A listing of one sandbox whose only server differs. */
export function withServer(odd: object) {
  return listing([{ ...sandbox, servers: [{ ...server, ...odd }] }]);
}

export const boxes = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, at) => ({ ...sandbox, local_sandbox_id: `s${at}`, ...more }));

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

/** Reads a body and makes the next snapshot of it. */
export function take(body: unknown, before: Snapshot = emptySnapshot, poll = 0): Snapshot {
  const observation = { atMs: 1, observedMs: 1, momentKnown: true, goneAfter: 3 };
  return runAtOnce(nextSnapshot(before, read(body, before, poll).listing, observation));
}

export function inWords({ deviations }: Pick<ReadListing, "deviations">): readonly string[] {
  return deviations.map(({ field, problem, count }) => `${field} ${problem} ${count}`);
}

/** A poll at which none of the texts is due to be parsed again. */
export function quietPoll({ texts }: Snapshot): number {
  const due = new Set(texts.map((text) => text?.rereadAt));
  for (let poll = 0; ; poll += 1) if (!due.has(poll)) return poll;
}

/** How many texts are parsed, but for what is beside the sandboxes, which is not where the whole body is known. */
export function countParsed(act: () => void): number {
  const parse = vi.spyOn(JSON, "parse");
  try {
    act();
    return Math.max(0, parse.mock.calls.length - 1);
  } finally {
    parse.mockRestore();
  }
}
