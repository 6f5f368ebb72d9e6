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
  /** The chunk's bytes may be others afterwards. */
  push(chunk: Uint8Array): void;
  end(): Exposition;
}

const lineFeed = 10;
const hash = 35;
const openBrace = 123;
const infoFamily = "sandbox_server_info";
const infoNeedle = Buffer.from(`\n${infoFamily}{`);
/** Families that have a sample or more for each server or sandbox, and are only passed over. */
const passedOver: ReadonlySet<string | null> = new Set([
  "sandbox_server_status",
  "sandbox_server_status_since_timestamp_seconds",
  "sandbox_status",
]);

/**
 * Reads an exposition as it comes. Nearly all of it is per-server series, which are counted or passed
 * over as a whole: the reader must not be what takes the time.
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
    if (countSeries) series += countSamples(lines);
    const family = onlyFamilyOf(lines);
    if (passedOver.has(family)) return;
    serverInfos += count(lines, infoNeedle);
    if (family === infoFamily) return;
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
      const begin = chunk.indexOf(lineFeed);
      if (begin === -1) {
        rest = Buffer.concat([rest, chunk]);
        return;
      }
      const end = chunk.lastIndexOf(lineFeed);
      // What is whole in the chunk is read where it is: it is nearly all there is.
      take(Buffer.concat([rest, chunk.subarray(0, begin)]));
      if (begin < end) take(Buffer.from(chunk.buffer, chunk.byteOffset + begin, end - begin));
      rest = Buffer.from(chunk.subarray(end));
    },
    end() {
      take(Buffer.from(rest));
      return { bytes, series, serverInfos, servers, polls, targetsUp };
    },
  };
}

/** Samples of a family stand side by side: where the first and the last one are of it, all are. */
function onlyFamilyOf(lines: Buffer): string | null {
  const first = familyAt(lines, 1);
  return first !== null && first === familyAt(lines, lines.lastIndexOf(lineFeed) + 1)
    ? first
    : null;
}

/** Of the sample that starts there; null where none with labels does. */
function familyAt(lines: Buffer, start: number): string | null {
  const end = lines.indexOf(openBrace, start);
  return end < 0 || lines[start] === hash ? null : lines.toString("latin1", start, end);
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
