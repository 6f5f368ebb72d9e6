import {
  withDescendants,
  type CompletedCommand,
  type CompletedOption,
  type Values,
} from "./completed-commands.ts";

/** A function for each command, as `_arguments` wants them. */
export function zshScript(program: CompletedCommand): string {
  return `#compdef sandwatch
${withDescendants(program).map(commandFunction).join("\n")}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _sandwatch "$@"
else
  compdef _sandwatch sandwatch
fi
`;
}

function commandFunction(command: CompletedCommand): string {
  const { options, values, commands } = command;
  const specs = options.map(optionSpec);
  if (commands.length === 0) {
    // Beside a value about which nothing is known, zsh would not complete options.
    const known = values.filter(({ kind }) => kind !== "any");
    const lines = [...specs, ...known.map((value) => quoted(`:value:${action(value)}`))];
    return `${functionName(command)}() {\n  _arguments ${lines.join(" \\\n    ")}\n}`;
  }
  const names = commands.map(({ name, description }) => quoted(`${name}:${description}`));
  return `${functionName(command)}() {
  local line state
  local -a commands=(
    ${names.join("\n    ")}
  )
  _arguments -C ${[...specs, "'1: :->command'", "'*:: :->rest'"].join(" \\\n    ")}
  case $state in
    command) _describe -t commands command commands ;;
    rest)
      case $line[1] in
${commands.map((each) => `        ${each.name}) ${functionName(each)} ;;`).join("\n")}
      esac ;;
  esac
}`;
}

function functionName({ path }: CompletedCommand): string {
  return ["_sandwatch", ...path.split(" ")].filter((part) => part !== "").join("_");
}

/** Such as `'(--config -c)'{--config=,-c+}'[the file]:value:_files'`. */
function optionSpec({ names, description, isRepeatable, value }: CompletedOption): string {
  const text = description.replaceAll(/[\\[\]:]/g, String.raw`\$&`);
  const rest = quoted(`[${text}]${value === null ? "" : `:value:${action(value)}`}`);
  const marked = names.map((name) => {
    if (value === null) return name;
    return name.startsWith("--") ? `${name}=` : `${name}+`;
  });
  const either = marked.length === 1 ? marked.join("") : `{${marked.join(",")}}`;
  return `${isRepeatable ? "'*'" : quoted(`(${names.join(" ")})`)}${either}${rest}`;
}

function action(value: Values): string {
  if (value.kind === "words") return `(${value.words.join(" ")})`;
  if (value.kind === "list") return `_values -s , value ${value.words.join(" ")}`;
  return value.kind === "file" ? "_files" : " ";
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
