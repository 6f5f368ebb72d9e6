import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { z } from "zod";
import { collectGarbage, peakMemoryBytes, settledMemoryBytes } from "./meters.ts";
import { imageArguments, imageEnvironment } from "./image.ts";

const memorySchema = z.object({ peakBytes: z.number(), settledBytes: z.number() });

/** What is resident of a process. */
export type Memory = z.infer<typeof memorySchema>;

export interface DaemonOptions {
  /** Of its configuration. */
  readonly file: string;
  /** Whether it can be asked for its memory, which makes its start a little longer. */
  readonly isWeighed: boolean;
}

/** A daemon in a process of its own. Its end is waited for when it is disposed of. */
export interface DaemonProcess extends AsyncDisposable {
  hasEnded(): boolean;
  /** Waits for what only happens while it runs. */
  whileRunning<T>(work: Promise<T>): Promise<T>;
  /** The most that it ever was, and once nothing more is going to be given back. */
  memory(): Promise<Memory>;
}

/** @param program the file of the built one */
export function startDaemonProcess(
  program: string,
  { file, isWeighed }: DaemonOptions,
): DaemonProcess {
  const scale = isWeighed ? ["--expose-gc", "--import", scaleModule()] : [];
  const child = spawn(
    process.execPath,
    [...imageArguments, ...scale, program, "run", "--config", file],
    {
      env: { ...process.env, ...imageEnvironment(dirname(file)) },
      stdio: ["ignore", "ignore", "inherit", ...(isWeighed ? ["ipc" as const] : [])],
    },
  );
  const ended = once(child, "exit");
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const whileRunning = <T>(work: Promise<T>): Promise<T> => Promise.race([work, failAt(ended)]);
  return {
    hasEnded,
    whileRunning,
    async memory() {
      child.send("weigh");
      const [answer] = await whileRunning(once(child, "message"));
      return memorySchema.parse(answer);
    },
    async [Symbol.asyncDispose]() {
      if (!hasEnded()) child.kill("SIGTERM");
      await ended;
    },
  };
}

async function failAt(ended: Promise<unknown[]>): Promise<never> {
  const [code, signal] = await ended;
  throw new Error(`the daemon ended with ${String(signal ?? code)}`);
}

/** In plain JavaScript: to strip types, the process would take the very memory that it is without. */
function scaleModule(): string {
  const parts = [collectGarbage, settledMemoryBytes, peakMemoryBytes, answerWithMemory];
  const code = `${parts.join("\n")}\nanswerWithMemory();`;
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

/** Runs in the daemon's process, and finds there only what its module is made of. */
function answerWithMemory(): void {
  process.on("message", () => {
    const peakBytes = peakMemoryBytes();
    void settledMemoryBytes().then((settledBytes) => process.send?.({ peakBytes, settledBytes }));
  });
  process.channel?.unref();
}
