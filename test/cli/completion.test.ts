import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** What is typed, with tabs, and the arguments with which the shell then runs sandwatch. */
const typed: readonly (readonly [string, string])[] = [
  ["simu\t", "simulate"],
  ["silen\tad\t--seve\t", "silence add --severity"],
  ["report --format ht\t", "report --format html"],
  ["report --format=ht\t", "report --format=html"],
  ["servers --status idle,occ\t", "servers --status idle,occupied"],
  ["servers --status=idle,occ\t", "servers --status=idle,occupied"],
  ["incidents --severity crit\t", "incidents --severity critical"],
  ["completion fi\t", "completion fish"],
  ["run -c my\t", "run -c my_config.yaml"],
  ["run --config=my\t", "run --config=my_config.yaml"],
  ["test-rules my\t", "test-rules my_config.yaml"],
  ["ack --author my\t", "ack --author my"],
];

/** How each shell is started on a terminal so that it reads `.zshrc`, and what precedes the script there. */
const shells = {
  bash: { command: "bash --noprofile --rcfile .zshrc -i", before: "" },
  zsh: { command: "zsh -i", before: "autoload -Uz compinit && compinit -u -D\n" },
  fish: { command: "fish --no-config --init-command 'source .zshrc'", before: "" },
} as const;

function isInstalled(program: string): boolean {
  return spawnSync(program, ["--version"]).status === 0;
}

describe.each(["bash", "zsh", "fish"] as const)("completion in %s", (shell) => {
  it.skipIf(!isInstalled(shell) || !isInstalled("script"))(
    "completes commands, options, words, lists and files, and nothing in place of other values",
    async () => {
      const folder = tempFolder();
      writeFileSync(join(folder, "my_config.yaml"), "");
      writeFileSync(join(folder, "sandwatch"), '#!/bin/sh\necho "RUN:$*:"\n', { mode: 0o755 });
      const { out: script } = await runCommand(["completion", shell]);
      const { command, before } = shells[shell];
      writeFileSync(join(folder, ".zshrc"), before + script);
      const child = spawn("script", ["-qec", command, "/dev/null"], {
        cwd: folder,
        env: {
          ...process.env,
          PATH: `${folder}:${process.env["PATH"]}`,
          HOME: folder,
          ZDOTDIR: folder,
          TERM: "dumb",
          HISTFILE: "",
        },
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      let shown = "";
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => (shown += chunk));
      child.stdin.end([...typed.map(([line]) => `sandwatch ${line}\n`), "exit\n"].join(""));
      await once(child, "close");
      expect(Array.from(shown.matchAll(/RUN:(.*):/g), ([, words]) => words)).toEqual(
        typed.map(([, words]) => words),
      );
    },
  );
});
