import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { z } from "zod";

const requestSchema = z.object({ id: z.number(), method: z.string(), params: z.unknown() });
const replySchema = z.object({
  id: z.number(),
  value: z.unknown().optional(),
  error: z.string().optional(),
});

export type Handlers = Readonly<Record<string, (params: unknown) => unknown>>;

/** Answers what the process that started this one asks. */
export function answerParent(handlers: Handlers): void {
  const answer = async (message: unknown): Promise<void> => {
    const { id, method, params } = requestSchema.parse(message);
    try {
      const handler = handlers[method];
      if (!handler) throw new Error(`nobody handles ${method}`);
      process.send?.({ id, value: await handler(params) });
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? error.stack : String(error) });
    }
  };
  process.on("message", (message) => void answer(message));
  process.on("disconnect", () => process.exit(0));
  process.send?.("started");
}

export interface Helper extends AsyncDisposable {
  ask<T>(method: string, params: unknown, schema: z.ZodType<T>): Promise<T>;
}

/**
 * Starts a process of this folder that ends with this one. Its standard output is a pipe, as a daemon in a
 * container has it, and read here as it comes; what was read is dropped.
 *
 * @param nodeArguments such as `--expose-gc`
 */
export async function startHelper(
  path: string,
  nodeArguments: readonly string[] = [],
): Promise<Helper> {
  const child = fork(path, {
    execArgv: [...nodeArguments],
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  child.stdout?.resume();
  await Promise.race([once(child, "message"), failWhenEnded(child, path)]);
  return createHelper(child, path);
}

function createHelper(child: ChildProcess, path: string): Helper {
  let lastId = 0;
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  child.on("message", (message) => {
    const { id, value, error } = replySchema.parse(message);
    const asked = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) asked?.resolve(value);
    else asked?.reject(new Error(error));
  });
  child.on("exit", (code, signal) => {
    for (const asked of waiting.values()) {
      asked.reject(new Error(`${path} ended with ${signal ?? code}`));
    }
  });
  return {
    async ask(method, params, schema) {
      const id = ++lastId;
      const asked = Promise.withResolvers<unknown>();
      waiting.set(id, asked);
      child.send({ id, method, params });
      return schema.parse(await asked.promise);
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}

async function failWhenEnded(child: ChildProcess, path: string): Promise<never> {
  await once(child, "exit");
  throw new Error(`${path} ended before it had started`);
}
