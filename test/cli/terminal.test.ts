import { expect, it } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import { printableTerminal } from "../../src/cli/terminal.ts";

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
