import { Buffer } from "node:buffer";
import { once } from "node:events";
import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import type { Fleet } from "./fleet.ts";

export interface Scrape {
  readonly bytes: number;
  /** Lines that hold a sample. Zero where they were not asked for. */
  readonly series: number;
  /** Lines of `sandbox_server_info`, one a server. */
  readonly servers: number;
}

const infoLine = Buffer.from("\nsandbox_server_info{");
const lineFeed = 10;
const hash = 35;

/** Scrapes as Prometheus would. Rejects unless the answer is whole and its status 200. */
export async function scrape(url: string, { countSeries = false } = {}): Promise<Scrape> {
  const response = await ask(url);
  let bytes = 0;
  let series = 0;
  let servers = 0;
  let tail = Buffer.alloc(0);
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (countSeries) series += countLines(chunk);
    // A line's beginning may be cut in two.
    const seam = Buffer.concat([tail, chunk.subarray(0, infoLine.length - 1)]);
    servers += count(seam, infoLine) + count(chunk, infoLine);
    tail = Buffer.from(chunk.subarray(-(infoLine.length - 1)));
  });
  await once(response, "end");
  return { bytes, series, servers };
}

/** Line feeds, without those of the comments of families: a few dozen at most. */
function countLines(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) {
    if (chunk[at + 1] !== hash) lines += 1;
  }
  return lines;
}

function count(bytes: Buffer, needle: Buffer): number {
  let found = 0;
  for (let at = bytes.indexOf(needle); at !== -1; at = bytes.indexOf(needle, at + needle.length)) {
    found += 1;
  }
  return found;
}

/** @throws {Error} unless a region's totals are those of the fleet: a daemon that does nothing would be fast */
export async function checkTotals(url: string, region: string, fleet: Fleet): Promise<void> {
  const shown = await totals(url, "sandbox_servers");
  for (const [status, expected] of Object.entries(fleet.counts())) {
    const labels = [`region="${region}"`, `status="${status}"`];
    checkEqual(`servers shown as ${status} in ${region}`, sumOf(shown, labels), expected);
  }
}

/** The sum of a family's samples. */
export async function total(url: string, family: string): Promise<number> {
  return sumOf(await totals(url, family), []);
}

async function totals(url: string, family: string): Promise<readonly string[]> {
  const response = await ask(`${url}?collect[]=${family}`);
  return (await text(response)).split("\n").filter((line) => line.startsWith(`${family}{`));
}

function sumOf(lines: readonly string[], labels: readonly string[]): number {
  return lines
    .filter((line) => labels.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
}

async function ask(url: string): Promise<IncomingMessage> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent: false }, resolve).on("error", reject);
  });
  if (response.statusCode === 200) return response;
  response.destroy();
  throw new Error(`a scrape got HTTP ${response.statusCode}`);
}

export function checkEqual(what: string, found: number, expected: number): void {
  if (found !== expected) throw new Error(`${what}: ${found} instead of ${expected}`);
}
