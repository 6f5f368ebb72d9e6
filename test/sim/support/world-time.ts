import { createGunzip } from "node:zlib";
import type { Moment } from "../history.ts";
import { replaceMethod } from "./statement-hook.ts";

interface Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export type WorldTime = ReturnType<typeof createWorldTime>;

/** The one time of a simulated world, in whole milliseconds. */
export function createWorldTime(startUtcMs: number) {
  let nowMs = 0;
  let offsetMs = startUtcMs;
  let order = 0;
  let moment = 0;
  const dueMs: number[] = [0];
  const timers = new Set<Timer>();

  const earliest = (): Timer | undefined => {
    let found: Timer | undefined;
    for (const timer of timers) {
      if (!found || timer.dueMs < found.dueMs) found = timer;
      else if (timer.dueMs === found.dueMs && timer.order < found.order) found = timer;
    }
    return found;
  };

  return {
    /** Since the world began. */
    get nowMs() {
      return nowMs;
    },
    /** What every wall clock shows. */
    get utcMs() {
      return nowMs + offsetMs;
    },
    now: (): Moment => ({ moment, atMs: nowMs, utcMs: nowMs + offsetMs }),
    /** When each moment was due; one that had to wait for the process came later. */
    dueMs,
    setTimer(delayMs: number, callback: () => void): () => void {
      const timer = { dueMs: nowMs + Math.ceil(Math.max(0, delayMs)), order: order++, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    /** Goes on to the next timer and fires it; false when there is none up to then. */
    jump(untilMs: number): boolean {
      const timer = earliest();
      if (!timer || timer.dueMs > untilMs) {
        nowMs = Math.max(nowMs, untilMs);
        return false;
      }
      timers.delete(timer);
      nowMs = Math.max(nowMs, timer.dueMs);
      moment += 1;
      dueMs.push(timer.dueMs);
      timer.callback();
      return true;
    },
    /** Time passes while the process is held up: no timer fires. */
    stall: (ms: number): void => void (nowMs += ms),
    stepWallClock: (ms: number): void => void (offsetMs += ms),
  };
}

/**
 * Resolves when nothing more happens without time going on: nothing here waits for real input or
 * output, so what is left are promises, ticks and immediates.
 */
export async function comeToRest(): Promise<void> {
  do {
    await new Promise<void>((resolve) => void setImmediate(resolve));
  } while (isDecoding() || process.getActiveResourcesInfo().includes("Immediate"));
}

interface Decoder {
  readonly destroyed: boolean;
}

/** Decoders work on threads of their own; one that is destroyed never calls back. */
const decoding = new Set<Decoder>();

function isDecoding(): boolean {
  for (const decoder of decoding) if (decoder.destroyed) decoding.delete(decoder);
  return decoding.size > 0;
}

type Callback = (...results: readonly unknown[]) => void;
type Step = (this: Decoder, ...parameters: readonly unknown[]) => unknown;
type DecoderPrototype = Record<"_transform" | "_flush", Step>;

/** Counts the decoders of `node:zlib` that are at work, until disposed of. */
export function watchDecoders(): Disposable {
  const undo = new DisposableStack();
  let prototype: unknown = createGunzip();
  while (!isDecoderPrototype(prototype)) prototype = Object.getPrototypeOf(prototype);
  for (const name of ["_transform", "_flush"] as const) {
    replaceMethod(undo, prototype, name, (original: Step): Step => {
      return function (this: Decoder, ...parameters: readonly unknown[]) {
        const done = parameters.at(-1);
        if (!isCallback(done)) throw new TypeError("a decoder without a callback");
        decoding.add(this);
        const ended: Callback = (...results) => {
          decoding.delete(this);
          done(...results);
        };
        return Reflect.apply(original, this, [...parameters.slice(0, -1), ended]);
      };
    });
  }
  undo.defer(() => decoding.clear());
  return undo;
}

function isCallback(value: unknown): value is Callback {
  return typeof value === "function";
}

function isDecoderPrototype(value: unknown): value is DecoderPrototype {
  if (typeof value !== "object" || value === null) throw new TypeError("no decoder in node:zlib");
  return Object.hasOwn(value, "_transform") && Object.hasOwn(value, "_flush");
}
