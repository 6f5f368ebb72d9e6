import { statuses } from "../core/model.ts";
import { emptyAccount } from "../core/occupancy/bucket.ts";
import type { Bucket, NameAccount } from "../core/occupancy/bucket.ts";
import type { BucketTotal, ServerSums } from "../core/occupancy/server-sums.ts";
import { goneOn, soleBegun, SteadyNames } from "../core/occupancy/steady-names.ts";
import type { Course } from "../core/occupancy/steady-names.ts";
import { noneByStatus } from "../core/snapshot/tallies.ts";
import {
  addPackedAccount,
  bitsOf,
  extentBits,
  has,
  readAccount,
  readExtent,
  readMostOccupied,
  statusBits,
  writeAccount,
  writeExtent,
} from "./packed-account.ts";
import { NumberReader } from "./packed-numbers.ts";
import type { NumberWriter } from "./packed-numbers.ts";

/**
 * What a bucket holds beside its times, as packed numbers: the extent of all servers, how many names
 * there are, and of each, in the order of their ids, how far its id is past the one before, which of
 * its fields are not zero, and those fields.
 */
export function packBody(
  bucket: Bucket,
  idOf: (name: string) => number,
  output: NumberWriter,
): Uint8Array {
  return soleBegun(bucket) ? packOpenBody(bucket, idOf, output) : pack(bucket, null, idOf, output);
}

/**
 * The same of a bucket that is open. Where the same is booked again and again, the body says what that
 * is and since when: then it is right at each later poll, too, with the times of that one. Where that
 * is all that it holds, it is right in each other bucket in which the same goes on.
 */
export function packOpenBody(
  bucket: Bucket,
  idOf: (name: string) => number,
  output: NumberWriter,
): Uint8Array {
  const { names } = bucket;
  return pack(bucket, names instanceof SteadyNames ? names : null, idOf, output);
}

function pack(
  { extent, bookedMs, names }: Bucket,
  goingOn: SteadyNames | null,
  idOf: (name: string) => number,
  output: NumberWriter,
): Uint8Array {
  const begun = goingOn?.begun.names ?? names;
  const begunMs = bookedMs - (goingOn?.ms ?? 0);
  output.writeByte((extent ? has.extent : 0) + extentBits(extent) + (goingOn ? goesOn : 0));
  writeExtent(extent, output);
  if (goingOn) output.write(begunMs);
  output.write(begun.size);
  let previous = 0;
  for (const [name, id] of idsInOrder(begun, idOf)) {
    output.write(id - previous);
    writeAccount(begun.get(name) ?? emptyAccount, begunMs, output);
    if (goingOn) writeCourse(goingOn.courseOf(name), output);
    previous = id;
  }
  return output.take();
}

/**
 * @param times of the same bucket
 * @throws {RangeError} when the body is not whole
 */
export function unpackBody(
  times: Pick<Bucket, "startMs" | "bookedMs" | "unobservedMs">,
  nameOf: (id: number) => string,
  input: NumberReader,
): Bucket {
  const bits = input.readByte();
  const extent = bits & has.extent ? readExtent(bits, input) : null;
  const begunMs = bits & goesOn ? input.read() : null;
  const names = new Map<string, NameAccount>();
  let id = 0;
  for (let left = input.read(); left > 0; left--) {
    id += input.read();
    const account = readAccount(begunMs ?? times.bookedMs, input);
    const isOver = begunMs === null;
    names.set(
      nameOf(id),
      isOver ? account : goneOn(account, readCourse(input), times.bookedMs - begunMs),
    );
  }
  return { ...times, extent, names };
}

/** Most often they are in that order already: names get their ids in the order of a bucket. */
function idsInOrder(
  names: Bucket["names"],
  idOf: (name: string) => number,
): readonly (readonly [string, number])[] {
  const ids = Array.from(names.keys(), (name) => [name, idOf(name)] as const);
  const isInOrder = ids.every(([, id], at) => id > (ids[at - 1]?.[1] ?? 0));
  return isInOrder ? ids : ids.toSorted(([, one], [, other]) => one - other);
}

/** A bucket with all its names together, added up without unpacking them one by one. */
export function totalOfBody(
  times: Pick<Bucket, "startMs" | "bookedMs" | "unobservedMs">,
  body: Uint8Array,
): BucketTotal {
  return { ...times, addTo: (sums) => addBody(sums, times.bookedMs, new NumberReader(body)) };
}

/** @throws {RangeError} when the body is not whole */
function addBody(sums: ServerSums, bookedMs: number, input: NumberReader): number | null {
  const bits = input.readByte();
  const most = bits & has.extent ? readMostOccupied(bits, input) : null;
  if (bits & goesOn) {
    addGoingOn(sums, bookedMs, input);
    return most;
  }
  for (let left = input.read(); left > 0; left--) {
    input.read();
    addPackedAccount(sums, bookedMs, input);
  }
  return most;
}

function addGoingOn(sums: ServerSums, bookedMs: number, input: NumberReader): void {
  const begunMs = input.read();
  for (let left = input.read(); left > 0; left--) {
    input.read();
    addPackedAccount(sums, begunMs, input);
    addCourse(sums, bookedMs - begunMs, input);
  }
}

/** Of a body's first byte, beside those of an extent: behind each account comes its course. */
const goesOn = 0x80;
/** Of a course's first byte: there are servers that nobody watches. Low the statuses of the others. */
const unseenBit = 0x10;

function writeCourse({ listed, unseen }: Course, output: NumberWriter): void {
  const { idle, occupied, error, unknown } = listed;
  output.writeByte(bitsOf(idle, occupied, error, unknown) + (unseen > 0 ? unseenBit : 0));
  for (const status of statuses) if (listed[status] > 0) output.write(listed[status]);
  if (unseen > 0) output.write(unseen);
}

function readCourse(input: NumberReader): Course {
  const bits = input.readByte();
  const listed = noneByStatus();
  for (const status of statuses) if (bits & statusBits[status]) listed[status] = input.read();
  return { listed, unseen: bits & unseenBit ? input.read() : 0 };
}

function addCourse(sums: ServerSums, ms: number, input: NumberReader): void {
  const bits = input.readByte();
  for (const status of statuses) {
    if (bits & statusBits[status]) sums.ms[status] += input.read() * ms;
  }
  if (bits & unseenBit) sums.unobservedMs += input.read() * ms;
}
