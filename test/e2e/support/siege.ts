import { readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished } from "vitest";
import type { prepareTrial, RunningTrial } from "./trial.ts";

/** Far above what was measured: a loaded machine is many times slower, and a stalled daemon slower still. */
const leastMs = 3_000;
const healthWithinMs = 20_000;
const notifiedWithinMs = 30_000;
const grownByMiB = 300;
/** The service is in the process of the test, which attacks. */
export const pollTimeout = "20s";

interface Siege {
  readonly trial: Awaited<ReturnType<typeof prepareTrial>>;
  readonly daemon: RunningTrial;
  /** Default: that of the daemon. */
  readonly healthAddress?: string;
  /** Runs again and again until the siege ends. */
  readonly attack: (signal: AbortSignal) => Promise<unknown>;
  /** Whether the attack has done what it is for. Default: after some seconds. */
  readonly isDone?: () => boolean;
}

/**
 * Attacks a daemon for some seconds, and shows that meanwhile health checks are answered, an error is notified, no target
 * is lost, and memory stays within a limit.
 */
export async function besiege({
  trial,
  daemon,
  attack,
  healthAddress,
  isDone = () => true,
}: Siege) {
  const { alerts } = trial.peer;
  const before = alerts.length;
  const startedMs = performance.now();
  const startKiB = residentKiB(daemon.pid, "VmRSS");
  writeFileSync(`/proc/${daemon.pid}/clear_refs`, "5");
  const ending = new AbortController();
  const attacking = (async () => {
    while (!ending.signal.aborted) await attack(ending.signal).catch(() => {});
  })();
  const checkHealth = async (): Promise<void> => {
    const response = await fetch(`${healthAddress ?? daemon.address}/-/healthy`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(healthWithinMs),
    });
    expect(response.status).toBe(200);
  };
  let notifiedMs = 0;
  try {
    await setTimeout(500);
    trial.show(0, "error");
    const shownMs = performance.now();
    while (performance.now() - startedMs < leastMs || notifiedMs === 0 || !isDone()) {
      await checkHealth();
      const passedMs = performance.now() - shownMs;
      if (notifiedMs === 0 && alerts.length > before) notifiedMs = passedMs;
      if (notifiedMs === 0) expect(passedMs).toBeLessThan(notifiedWithinMs);
      await setTimeout(50);
    }
  } finally {
    ending.abort();
    await attacking;
  }
  const grownMiB = (residentKiB(daemon.pid, "VmHWM") - startKiB) / 1_024;
  expect(grownMiB).toBeLessThan(grownByMiB);
  daemon.send("SIGTERM");
  const ended = await daemon.ended;
  expect(ended).toMatchObject({ code: 0, err: "" });
  const unwanted = ended.out
    .split("\n")
    .filter((line) =>
      /"event":"(?:target\.lost.*"region":"us"|loop\.silent|http\.failed)/.test(line),
    );
  expect(unwanted).toEqual([]);
  return { log: ended.out };
}

/** Of a process, at present or at most. */
function residentKiB(pid: number, field: "VmRSS" | "VmHWM"): number {
  const [, found] =
    new RegExp(`${field}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  return Number(found);
}

/** A connection that sends this at once, and reads nothing. */
export function openTo(
  address: string,
  text: string | Uint8Array = "",
  localAddress = "127.0.0.1",
): Socket {
  const { port } = new URL(address);
  const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  if (text.length > 0) socket.write(text);
  return socket;
}

/** Closes connections once the siege ends. */
export async function hold(sockets: readonly Socket[], signal: AbortSignal, mostMs = 60_000) {
  await setTimeout(mostMs, null, { signal }).catch(() => {});
  for (const socket of sockets) socket.destroy();
}
