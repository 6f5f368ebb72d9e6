import { statuses } from "../core/model.ts";
import type { Resolution } from "../core/occupancy/bucket.ts";
import { emptyServerSums } from "../core/occupancy/server-sums.ts";
import type { BucketTotal, ServerSums } from "../core/occupancy/server-sums.ts";
import { addPackedStays, writeStays } from "./packed-account.ts";
import { NumberReader } from "./packed-numbers.ts";
import type { NumberWriter } from "./packed-numbers.ts";
import type { Tables } from "./tables.ts";

/** Of the finest there are the most, and few are read at a time: they have no totals of their own. */
export type TotalledResolution = Exclude<Resolution, "5m">;

export const totalTables = { "1h": "totals_1h", "1d": "totals_1d" } as const satisfies Record<
  TotalledResolution,
  keyof Tables
>;

/** A bucket with all its names together, as packed numbers. */
export function packTotal(total: BucketTotal, output: NumberWriter): Uint8Array {
  const sums = emptyServerSums();
  const mostOccupied = total.addTo(sums);
  const stays = sums.stays.toSketch();
  output.write(total.bookedMs);
  output.write(total.unobservedMs);
  output.write(mostOccupied === null ? 0 : mostOccupied + 1);
  for (const status of statuses) output.write(sums.ms[status]);
  output.write(sums.unobservedMs);
  output.writeByte(stays.bins.length === 0 ? 0 : 1);
  writeStays(stays, output);
  return output.take();
}

/** What was packed. Its times are read at once, the rest when it is added. */
export class PackedTotal implements BucketTotal {
  readonly startMs: number;
  readonly bookedMs: number;
  readonly unobservedMs: number;
  private readonly body: Uint8Array;

  /** @throws {RangeError} when the body is not whole */
  constructor(startMs: number, body: Uint8Array) {
    const input = new NumberReader(body);
    this.startMs = startMs;
    this.bookedMs = input.read();
    this.unobservedMs = input.read();
    this.body = body;
  }

  /** @throws {RangeError} when the body is not whole */
  addTo(sums: ServerSums): number | null {
    const input = new NumberReader(this.body);
    input.read();
    input.read();
    const mostOccupied = input.read() - 1;
    for (const status of statuses) sums.ms[status] += input.read();
    sums.unobservedMs += input.read();
    if (input.readByte() !== 0) addPackedStays(sums.stays, input);
    return mostOccupied < 0 ? null : mostOccupied;
  }
}
