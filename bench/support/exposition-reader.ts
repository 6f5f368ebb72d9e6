import { Buffer } from "node:buffer";
import { z } from "zod";

export const expositionSchema = z.object({
  bytes: z.number(),
  /** Lines that hold a sample. Zero where they were not asked for. */
  series: z.number(),
  /** Lines of `sandbox_server_info`, one a server. */
  serverInfos: z.number(),
  /** The sum of `sandbox_servers` by region, then status. */
  servers: z.record(z.string(), z.record(z.string(), z.number())),
  /** By region. */
  polls: z.record(z.string(), z.number()),
  targetsUp: z.number(),
});

/** What the scenarios check an exposition by. */
export type Exposition = z.infer<typeof expositionSchema>;

export interface ExpositionReader {
  push(chunk: Uint8Array): void;
  end(): Exposition;
}

const lineFeed = 10;
const hash = 35;
const infoNeedle = Buffer.from("\nsandbox_server_info{");

/**
 * Reads an exposition as it comes. Nearly all of it is per-server series, which are only counted, so
 * that the reader is no slower than it must be.
 *
 * @param countSeries whether to count every sample too, which takes longer
 */
export function createExpositionReader({ countSeries = false } = {}): ExpositionReader {
  let rest: Uint8Array = Buffer.from("\n");
  let bytes = 0;
  let series = 0;
  let serverInfos = 0;
  let targetsUp = 0;
  const servers: Record<string, Record<string, number>> = {};
  const polls: Record<string, number> = {};

  /** `lines` starts with a line feed and ends before one. */
  const take = (lines: Buffer): void => {
    serverInfos += count(lines, infoNeedle);
    if (countSeries) series += countSamples(lines);
    for (const { labels, value } of samplesOf(lines, "sandbox_servers")) {
      const region = (servers[labels["region"] ?? ""] ??= {});
      const status = labels["status"] ?? "";
      region[status] = (region[status] ?? 0) + value;
    }
    for (const { labels, value } of samplesOf(lines, "sandwatch_polls_total")) {
      const region = labels["region"] ?? "";
      polls[region] = (polls[region] ?? 0) + value;
    }
    for (const { value } of samplesOf(lines, "sandwatch_target_up")) targetsUp += value;
  };

  return {
    push(chunk) {
      bytes += chunk.length;
      const end = chunk.lastIndexOf(lineFeed);
      if (end === -1) {
        rest = Buffer.concat([rest, chunk]);
        return;
      }
      take(Buffer.concat([rest, chunk.subarray(0, end)]));
      rest = chunk.slice(end);
    },
    end() {
      take(Buffer.from(rest));
      return { bytes, series, serverInfos, servers, polls, targetsUp };
    },
  };
}

function count(lines: Buffer, needle: Buffer): number {
  let found = 0;
  for (let at = lines.indexOf(needle); at !== -1; at = lines.indexOf(needle, at + needle.length)) {
    found += 1;
  }
  return found;
}

function countSamples(lines: Buffer): number {
  let samples = 0;
  for (let at = lines.indexOf(lineFeed); at !== -1; at = lines.indexOf(lineFeed, at + 1)) {
    const next = lines[at + 1];
    if (next !== undefined && next !== hash && next !== lineFeed) samples += 1;
  }
  return samples;
}

interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

function* samplesOf(lines: Buffer, family: string): Iterable<Sample> {
  const needle = `\n${family}{`;
  for (let at = lines.indexOf(needle); at !== -1; at = lines.indexOf(needle, at + 1)) {
    const end = lines.indexOf(lineFeed, at + 1);
    const line = lines.toString("utf8", at + 1, end === -1 ? lines.length : end);
    const labels: Record<string, string> = {};
    for (const [, name, value] of line.matchAll(/(\w+)="([^"]*)"/g)) {
      if (name !== undefined && value !== undefined) labels[name] = value;
    }
    yield { labels, value: Number(line.slice(line.lastIndexOf(" "))) };
  }
}
