import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { isPassword, parsePasswordHash } from "../../src/lib/password.ts";
import { runCommand } from "../support/run-command.ts";
import { compileCache, programOf } from "../support/sandwatch-process.ts";

const program = programOf("cli");
const password = "correct horse: battery staple";

async function isHashOf(printed: string): Promise<boolean> {
  const hash = parsePasswordHash(printed.trimEnd());
  return hash !== undefined && isPassword(password, hash);
}

describe("hash-password", () => {
  it("prints the hash of the first line of its input", async () => {
    const args = [program, "hash-password"];
    const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
    const { stdin, stdout } = spawn(process.execPath, args, { env });
    stdin.end(`${password}\r\nanother line\n`);
    const printed = await text(stdout);
    expect(printed.split("\n")).toHaveLength(2);
    expect(await isHashOf(printed)).toBe(true);
  });

  it("asks a person, and does not show what is typed", async () => {
    const asked: unknown[] = [];
    const ask = async (...question: unknown[]) => {
      asked.push(question);
      return password;
    };
    const { code, out, err } = await runCommand(["hash-password"], {}, { ask });
    expect([code, err, asked]).toEqual([0, "", [["Password: ", true]]]);
    expect(await isHashOf(out)).toBe(true);
    expect(out).not.toContain(password);
  });

  it.each(["", "11character"])("refuses %j, which is too short", async (short) => {
    const ended = await runCommand(["hash-password"], {}, { ask: async () => short });
    const err = expect.stringContaining("at least 12 characters");
    expect(ended).toMatchObject({ code: 2, out: "", err });
    expect((await runCommand(["hash-password"], {}, { ask: async () => null })).code).toBe(2);
  });
});
