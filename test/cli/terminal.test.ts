import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { lookOf } from "../../src/cli/look.ts";
import { runProgram } from "../../src/cli/program.ts";
import { printableTerminal, processTerminal } from "../../src/cli/terminal.ts";

const odd = "a\u001b[2J\u202e\u2028\r\tb";

function terminalOf(isInteractive: boolean) {
  let text = "";
  const out = (more: string) => void (text += more);
  return { terminal: { out, err: out, isInteractive }, text: () => text };
}

it("an error shows no character that a terminal would obey", async () => {
  for (const args of [[odd], ["poll", "--config", `/${odd}`], ["report", "--from", odd]]) {
    const { terminal, text } = terminalOf(true);
    expect(await runProgram(args, terminal)).toBe(2);
    expect(text()).not.toMatch(/[^\n\P{C}]|[\u2028]/u);
  }
});

it("a result for a program is as it is, unless a person reads it", () => {
  for (const [isInteractive, shown] of [
    [false, odd],
    [true, "a\\u{1b}[2J\\u{202e}\\u{2028}\\u{d}\\u{9}b"],
  ] as const) {
    const { terminal, text } = terminalOf(isInteractive);
    printableTerminal(terminal).data?.(odd);
    expect(text()).toBe(shown);
  }
});

it("output in colour has the colours of sandwatch, and no others that came with a value", () => {
  let text = "";
  const terminal = { out: (more: string) => void (text += more), err() {}, isInteractive: true };
  const { paint } = lookOf({ ...terminal, isColored: true });
  const colors = ["red", "yellow", "green", "bold"] as const;
  const painted = colors.map((color) => paint(color, "x")).join("\n");
  printableTerminal({ ...terminal, isColored: true }).out(`${painted}\u001b[5m\u001b[2J\r\n`);
  expect(text).toBe(`${painted}\\u{1b}[5m\\u{1b}[2J\r\n`);
  text = "";
  printableTerminal(terminal).out(painted);
  expect(text).not.toContain("\u001b");
});

describe("the terminal of the process", () => {
  const shown = (environment: Readonly<Record<string, string>>) => {
    for (const name of ["NO_COLOR", "FORCE_COLOR", "COLUMNS"]) vi.stubEnv(name, environment[name]);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { isColored, columns } = processTerminal;
    return { isColored, columns };
  };

  it("is in colour with FORCE_COLOR, and otherwise as it is no screen without, and of no width", () => {
    expect(shown({})).toEqual({ isColored: false, columns: undefined });
    expect(shown({ FORCE_COLOR: "1", COLUMNS: "50" })).toEqual({ isColored: true, columns: 50 });
    expect(shown({ FORCE_COLOR: "0" })).toMatchObject({ isColored: false });
  });

  it.skipIf(process.platform !== "linux")(
    "is in colour and of a width on a screen, but for NO_COLOR",
    async () => {
      const script = `import { processTerminal } from ${JSON.stringify(join(import.meta.dirname, "../../src/cli/terminal.ts"))};
      process.stdout.write(JSON.stringify([processTerminal.isColored, processTerminal.columns > 0]));`;
      const onScreen = async (environment: Readonly<Record<string, string>>) => {
        // Node.js shows no colours where CI is set.
        const { NO_COLOR: _no, FORCE_COLOR: _force, CI: _ci, ...env } = process.env;
        const command = `stty cols 70; '${process.execPath}' --input-type=module --eval "$SCRIPT"`;
        const ran = await promisify(execFile)("script", ["-qec", command, "/dev/null"], {
          env: { ...env, TERM: "xterm-256color", SCRIPT: script, ...environment },
        });
        return ran.stdout;
      };
      expect(await onScreen({})).toBe("[true,true]");
      expect(await onScreen({ NO_COLOR: "1" })).toBe("[false,true]");
    },
  );
});
