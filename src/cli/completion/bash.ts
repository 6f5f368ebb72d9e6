import { withDescendants, type CompletedCommand, type Values } from "./completed-commands.ts";

/** Words of bash end at `=`, which is then a word of its own. */
export function bashScript(program: CompletedCommand): string {
  const commands = withDescendants(program);
  const paths = commands.map(({ path }) => path).filter((path) => path !== "");
  return `# bash completion for sandwatch
_sandwatch() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD - 1]}
  local command="" words="" list="" i
  if [[ $current == "=" ]]; then current=""; fi
  if [[ $previous == "=" ]]; then previous=\${COMP_WORDS[COMP_CWORD - 2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command \${COMP_WORDS[i]}" in
      ${paths.map((path) => (path.includes(" ") ? `"${path}"` : `" ${path}"`)).join(" | ")})
        command="\${command:+$command }\${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case $command in
${commands.map(commandCase).join("\n")}
  esac
  if [[ -n $list ]]; then
    local before=""
    if [[ $current == *,* ]]; then before=\${current%,*},; fi
    compopt -o nospace 2> /dev/null
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$list" -- "\${current##*,}")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  fi
}
complete -F _sandwatch sandwatch
`;
}

function commandCase({ path, commands, options, values }: CompletedCommand): string {
  const valued = Map.groupBy(
    options.filter(({ value }) => value !== null),
    ({ value }) => valueAction(value),
  );
  const words = [
    ...commands.map(({ name }) => name),
    ...values.flatMap((value) => ("words" in value ? value.words : [])),
    ...options.flatMap(({ names }) => names.filter((name) => name.startsWith("--"))),
  ];
  const hasFile = values.some(({ kind }) => kind === "file");
  const file = hasFile ? "if [[ $current != -* ]]; then compopt -o default 2> /dev/null; fi; " : "";
  return [
    `    "${path}")`,
    "      case $previous in",
    ...Array.from(
      valued,
      ([action, having]) =>
        `        ${having.flatMap(({ names }) => names).join(" | ")}) ${action} ;;`,
    ),
    `        *) ${file}words="${words.join(" ")}" ;;`,
    "      esac ;;",
  ].join("\n");
}

function valueAction(value: Values | null): string {
  if (value === null) return "";
  if (value.kind === "words") return `words="${value.words.join(" ")}"`;
  if (value.kind === "list") return `list="${value.words.join(" ")}"`;
  return value.kind === "file" ? "compopt -o default 2> /dev/null; return" : "return";
}
