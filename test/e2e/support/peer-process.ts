import { spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { freeAddress } from "../../support/free-address.ts";
import { until } from "./until.ts";

/** A port that nothing listens on. Another program may take it first. */
export async function freePort(): Promise<number> {
  return Number(new URL(`http://${await freeAddress()}`).port);
}

/**
 * Starts a program of another project, waits until it is ready, and ends it with the test.
 *
 * @returns what ends it before
 */
export async function startPeer(
  program: string,
  args: readonly string[],
  readyUrl: string,
): Promise<() => Promise<void>> {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => void output.push(text));
  }
  let ended = false;
  const exited = once(child, "exit").then(() => (ended = true));
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);
  await until(`${program} is ready`, async () => {
    if (ended) throw new Error(`${program} ended:\n${output.join("").slice(-2_000)}`);
    const response = await fetch(readyUrl);
    return response.ok ? true : undefined;
  });
  return kill;
}

export async function getJson(url: string): Promise<unknown> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
}
