import { Argument, type Command } from "commander";
import { bashScript } from "./completion/bash.ts";
import { completedCommands } from "./completion/completed-commands.ts";
import { fishScript } from "./completion/fish.ts";
import { zshScript } from "./completion/zsh.ts";
import type { Terminal } from "./terminal.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type Shell = keyof typeof scripts;

const use = `
Run once, and again after an upgrade:
  bash  sandwatch completion bash > ~/.sandwatch-completion.bash
        and in ~/.bashrc: source ~/.sandwatch-completion.bash
  zsh   sandwatch completion zsh > ~/.sandwatch-completion.zsh
        and in ~/.zshrc, after compinit: source ~/.sandwatch-completion.zsh
  fish  sandwatch completion fish > ~/.config/fish/completions/sandwatch.fish`;

export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description("print a script that completes commands, options and values in a shell")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(scripts)))
    .addHelpText("after", use)
    .action((shell: Shell) => terminal.out(scripts[shell](completedCommands(program))));
}
