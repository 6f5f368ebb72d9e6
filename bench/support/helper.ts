import { fork } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
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
      if (!handler) throw new Error(`nothing handles ${method}`);
      process.send?.({ id, value: await handler(params) });
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? error.stack : String(error) });
    }
  };
  process.on("message", (message) => void answer(message));
  process.on("disconnect", () => process.exit(0));
}

export interface Helper extends AsyncDisposable {
  ask<T>(method: string, params: unknown, schema: z.ZodType<T>): Promise<T>;
}

/** Starts a process of this folder, with Node's default flags. It ends with this one. */
export function startHelper(name: string, nodeArguments: readonly string[] = []): Helper {
  const child = fork(join(import.meta.dirname, name), { execArgv: [...nodeArguments] });
  const failing = failAtEnd(child, name);
  failing.catch(() => {});
  const asked = new Map<number, (reply: z.infer<typeof replySchema>) => void>();
  let questions = 0;
  child.on("message", (message) => {
    const reply = replySchema.parse(message);
    asked.get(reply.id)?.(reply);
    asked.delete(reply.id);
  });
  return {
    async ask(method, params, schema) {
      const id = (questions += 1);
      const replying = new Promise<z.infer<typeof replySchema>>((resolve) =>
        asked.set(id, resolve),
      );
      child.send({ id, method, params });
      const { value, error } = await Promise.race([replying, failing]);
      if (error !== undefined) throw new Error(error);
      return schema.parse(value);
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}

async function failAtEnd(child: ChildProcess, name: string): Promise<never> {
  await once(child, "exit");
  throw new Error(`${name} ended`);
}
