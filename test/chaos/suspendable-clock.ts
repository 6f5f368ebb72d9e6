import { existsSync, rmSync } from "node:fs";

/**
 * Loaded before the program. The monotonic clock of Linux stands still while a machine is suspended, and so do
 * timers: here it does for the time that the process was stopped if, by then, the file in `SUSPENDED_FILE` was there.
 */
const file = process.env["SUSPENDED_FILE"] ?? "";
/** Node.js calls back a timer this much too early at most. */
const earlyMs = 2;
/** A process that runs looks at the clock far more often. */
const stoppedMs = 1_000;
const lookEveryMs = 100;

const runningMs = performance.now.bind(performance);
const setRunningTimer = globalThis.setTimeout;
let lastMs = runningMs();
let stoodMs = 0;

performance.now = () => {
  const ms = runningMs();
  if (ms - lastMs > stoppedMs && existsSync(file)) {
    rmSync(file);
    stoodMs += ms - lastMs;
  }
  lastMs = ms;
  return ms - stoodMs;
};
setInterval(() => performance.now(), lookEveryMs).unref();

/** As `setTimeout` of Node.js. */
function setTimer<Args extends readonly unknown[]>(
  callback: (...args: Args) => void,
  ms = 0,
  ...args: Args
): NodeJS.Timeout {
  const fromMs = performance.now();
  const timer = setRunningTimer(() => {
    // It waits again for as long: too long, but never too short.
    if (performance.now() - fromMs < ms - earlyMs) timer.refresh();
    else callback(...args);
  }, ms);
  return timer;
}
Object.assign(globalThis, { setTimeout: setTimer });
