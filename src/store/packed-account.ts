import { statuses } from "../core/model.ts";
import type { Status } from "../core/model.ts";
import { byStatus, emptyAccount } from "../core/occupancy/bucket.ts";
import type { Extent, NameAccount } from "../core/occupancy/bucket.ts";
import type { ServerSums } from "../core/occupancy/server-sums.ts";
import { noStays } from "../core/occupancy/stay-sketch.ts";
import type { StaySketch } from "../core/occupancy/stay-sketch.ts";
import type { StaySum } from "../core/occupancy/stay-sum.ts";
import { noneByStatus } from "../core/snapshot/tallies.ts";
import type { NumberReader, NumberWriter } from "./packed-numbers.ts";

/** Of an account's first byte. The low four bits are the statuses that took any time. */
export const has = { unobserved: 0x10, exhausted: 0x20, extent: 0x40, steady: 0x80 };
export const statusBits: Readonly<Record<Status, number>> = {
  idle: 1,
  occupied: 2,
  error: 4,
  unknown: 8,
};

/** Of its second byte: low the statuses of stays, high those that any server was in. */
const extentShift = 4;

export function writeAccount(account: NameAccount, bookedMs: number, output: NumberWriter): void {
  const { ms, unobservedMs, extent, exhaustedMs, stays } = account;
  const servers = ms.idle > 0 ? steadyCount(account, bookedMs) : 0;
  output.writeByte(
    bitsOf(ms.idle, ms.occupied, ms.error, ms.unknown) +
      (unobservedMs > 0 ? has.unobserved : 0) +
      (exhaustedMs > 0 ? has.exhausted : 0) +
      (extent ? has.extent : 0) +
      (servers > 0 ? has.steady : 0),
  );
  const { idle, occupied, error, unknown } = stays;
  const ended = bitsOf(
    idle.bins.length,
    occupied.bins.length,
    error.bins.length,
    unknown.bins.length,
  );
  output.writeByte(ended + (extentBits(extent) << extentShift));
  if (servers > 0) output.write(servers);
  else if (ms.idle > 0) output.write(ms.idle);
  if (ms.occupied > 0) output.write(ms.occupied);
  if (ms.error > 0) output.write(ms.error);
  if (ms.unknown > 0) output.write(ms.unknown);
  if (unobservedMs > 0) output.write(unobservedMs);
  if (exhaustedMs > 0) output.write(exhaustedMs);
  writeExtent(extent, output);
  if (ended === 0) return;
  for (const status of statuses) writeStays(stays[status], output);
}

export function readAccount(bookedMs: number, input: NumberReader): NameAccount {
  const bits = input.readByte();
  const more = input.readByte();
  const readIf = (bit: number): number => (bits & bit ? input.read() : 0);
  const first = readIf(statusBits.idle);
  const occupied = readIf(statusBits.occupied);
  const error = readIf(statusBits.error);
  const unknown = readIf(statusBits.unknown);
  const unobservedMs = readIf(has.unobserved);
  const exhaustedMs = readIf(has.exhausted);
  const others = occupied + error + unknown + unobservedMs;
  const idle = bits & has.steady ? first * bookedMs - others : first;
  const extent = bits & has.extent ? readExtent(more >> extentShift, input) : null;
  const stays =
    more & allStatuses
      ? byStatus((status) => (more & statusBits[status] ? readStays(input) : noStays))
      : emptyAccount.stays;
  return { ms: { idle, occupied, error, unknown }, unobservedMs, extent, exhaustedMs, stays };
}

export function addPackedAccount(sums: ServerSums, bookedMs: number, input: NumberReader): void {
  const bits = input.readByte();
  const more = input.readByte();
  const first = bits & statusBits.idle ? input.read() : 0;
  const occupied = bits & statusBits.occupied ? input.read() : 0;
  const error = bits & statusBits.error ? input.read() : 0;
  const unknown = bits & statusBits.unknown ? input.read() : 0;
  const unobservedMs = bits & has.unobserved ? input.read() : 0;
  if (bits & has.exhausted) input.read();
  const others = occupied + error + unknown + unobservedMs;
  sums.ms.idle += bits & has.steady ? first * bookedMs - others : first;
  sums.ms.occupied += occupied;
  sums.ms.error += error;
  sums.ms.unknown += unknown;
  sums.unobservedMs += unobservedMs;
  if (bits & has.extent) readMostOccupied(more >> extentShift, input);
  for (const status of statuses) {
    if (!(more & statusBits[status])) continue;
    addPackedStays(status === "occupied" ? sums.stays : null, input);
  }
}

const allStatuses = 0x0f;

/**
 * How many servers there were, if there were as many all the time: then what they were idle follows
 * from the other times, and need not be kept. 0: otherwise.
 */
function steadyCount(account: NameAccount, bookedMs: number): number {
  const { idle, occupied, error, unknown } = account.ms;
  const total = idle + occupied + error + unknown + account.unobservedMs;
  const servers = total / bookedMs;
  const isExact = Number.isSafeInteger(total) && servers * bookedMs === total;
  return isExact && Number.isSafeInteger(servers) ? servers : 0;
}

export function extentBits(extent: Extent | null): number {
  if (!extent) return 0;
  const { idle, occupied, error, unknown } = extent.most;
  return bitsOf(idle, occupied, error, unknown);
}

/** Most often both numbers are small: then they share a byte. */
const fewMore = 7;

export function writeExtent(extent: Extent | null, output: NumberWriter): void {
  if (!extent) return;
  for (const status of statuses) {
    const least = extent.least[status];
    const more = extent.most[status] - least;
    if (extent.most[status] === 0) continue;
    output.write(least * (fewMore + 1) + Math.min(more, fewMore));
    if (more >= fewMore) output.write(more - fewMore);
  }
}

export function readExtent(bits: number, input: NumberReader): Extent {
  const least = noneByStatus();
  const most = noneByStatus();
  for (const status of statuses) {
    if (!(bits & statusBits[status])) continue;
    const both = input.read();
    const more = both % (fewMore + 1);
    least[status] = Math.floor(both / (fewMore + 1));
    most[status] = least[status] + more + (more === fewMore ? input.read() : 0);
  }
  return { least, most };
}

/** Passes over the rest of an extent. */
export function readMostOccupied(bits: number, input: NumberReader): number {
  let occupied = 0;
  for (const status of statuses) {
    if (!(bits & statusBits[status])) continue;
    const both = input.read();
    const more = both % (fewMore + 1);
    const most = Math.floor(both / (fewMore + 1)) + more + (more === fewMore ? input.read() : 0);
    if (status === "occupied") occupied = most;
  }
  return occupied;
}

/** Each bin by its distance from the one before, doubled; one more says that it holds several. */
export function writeStays(sketch: StaySketch, output: NumberWriter): void {
  const { sumMs, bins, counts } = sketch;
  if (bins.length === 0) return;
  output.write(sumMs);
  output.write(bins.length);
  let previous = 0;
  for (let at = 0; at < bins.length; at++) {
    const bin = bins[at] ?? 0;
    const count = counts[at] ?? 0;
    output.write((bin - previous) * 2 + (count === 1 ? 0 : 1));
    if (count !== 1) output.write(count);
    previous = bin;
  }
}

function readStays(input: NumberReader): StaySketch {
  const sumMs = input.read();
  const bins: number[] = [];
  const counts: number[] = [];
  let bin = 0;
  for (let left = input.read(); left > 0; left--) {
    const step = input.read();
    bin += Math.floor(step / 2);
    bins.push(bin);
    counts.push(step % 2 === 0 ? 1 : input.read());
  }
  return { sumMs, bins, counts };
}

/** @param sum null: they are passed over */
export function addPackedStays(sum: StaySum | null, input: NumberReader): void {
  const sumMs = input.read();
  if (sum) sum.sumMs += sumMs;
  let bin = 0;
  for (let left = input.read(); left > 0; left--) {
    const step = input.read();
    bin += Math.floor(step / 2);
    const count = step % 2 === 0 ? 1 : input.read();
    if (sum) sum.addBin(bin, count);
  }
}

export function bitsOf(idle: number, occupied: number, error: number, unknown: number): number {
  return (idle > 0 ? 1 : 0) | (occupied > 0 ? 2 : 0) | (error > 0 ? 4 : 0) | (unknown > 0 ? 8 : 0);
}
