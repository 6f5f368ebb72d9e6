import { delay, type Clock } from "../lib/clock.ts";
import { faultsOf, type FullFault } from "./faults.ts";

export type Body = Iterable<Buffer> | AsyncIterable<Buffer>;

export interface Wire {
  readonly clock: Clock;
  /** Aborts when the client is gone or the simulator closes. */
  readonly gone: AbortSignal;
  /** Ends the connection without ending the answer. */
  readonly cut: () => void;
}

/** The body as the faults let it through. */
export function spoilBody(body: Body, faults: readonly FullFault[], wire: Wire): Body {
  let spoilt = body;
  for (const fault of faultsOf(faults, "truncate")) spoilt = truncated(spoilt, fault.after_bytes);
  for (const fault of faultsOf(faults, "slow")) {
    spoilt = slowed(spoilt, fault.bytes_per_second, wire);
  }
  for (const fault of faultsOf(faults, "reset")) {
    if (fault.when === "body") spoilt = broken(spoilt, fault.after_bytes, async () => wire.cut());
  }
  for (const fault of faultsOf(faults, "hang")) {
    if (fault.when === "body") spoilt = broken(spoilt, fault.after_bytes, () => aborted(wire.gone));
  }
  return spoilt;
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Holds the newest chunk back, so that it never lets the last byte through. */
async function* truncated(body: Body, afterBytes: number): AsyncGenerator<Buffer> {
  let left = afterBytes;
  let held: Buffer = Buffer.alloc(0);
  for await (const chunk of body) {
    if (held.length >= left) break;
    left -= held.length;
    if (held.length > 0) yield held;
    held = chunk;
  }
  yield held.subarray(0, Math.min(left, held.length - 1));
}

/** Lets so many bytes through, or the whole of a shorter body, then breaks before the end. */
async function* broken(
  body: Body,
  afterBytes: number,
  breakOff: () => Promise<void>,
): AsyncGenerator<Buffer> {
  let left = afterBytes;
  for await (const chunk of body) {
    if (left > 0) yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) break;
  }
  await breakOff();
}

const slowStepMs = 100;

async function* slowed(body: Body, bytesPerSecond: number, wire: Wire): AsyncGenerator<Buffer> {
  const bytesPerStep = Math.max(1, Math.round((bytesPerSecond * slowStepMs) / 1000));
  const stepMs = (bytesPerStep / bytesPerSecond) * 1000;
  for await (const chunk of body) {
    for (let offset = 0; offset < chunk.length; offset += bytesPerStep) {
      yield chunk.subarray(offset, offset + bytesPerStep);
      await delay(wire.clock, stepMs, wire.gone);
      if (wire.gone.aborted) return;
    }
  }
}
