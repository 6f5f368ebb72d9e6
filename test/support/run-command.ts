import { vi } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import type { Terminal } from "../../src/cli/terminal.ts";

export interface CommandEnded {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A command that ends by itself, within this process: to start one takes longer than most commands. */
export async function runCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  terminal: Partial<Terminal> = {},
): Promise<CommandEnded> {
  let out = "";
  let err = "";
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    const code = await runProgram(args, {
      out: (text) => (out += text),
      err: (text) => (err += text),
      isInteractive: false,
      ...terminal,
    });
    return { code, out, err };
  } finally {
    vi.unstubAllEnvs();
  }
}
