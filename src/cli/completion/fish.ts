import {
  withDescendants,
  type CompletedCommand,
  type CompletedOption,
  type Values,
} from "./completed-commands.ts";

export function fishScript(program: CompletedCommand): string {
  const commands = withDescendants(program);
  const paths = commands.map(({ path }) => path).filter((path) => path !== "");
  return `# fish completion for sandwatch
function __sandwatch_at --description 'Whether these are the names of the command so far'
    set -l words (commandline -opc)
    set -l command
    for word in $words[2..]
        if contains -- "$(string join -- ' ' $command $word)" ${paths.map(quoted).join(" ")}
            set -a command $word
        end
    end
    test "$command" = "$argv[1]"
end

function __sandwatch_list --description 'Words that continue a list with commas'
    set -l before (commandline -ct | string replace -r '^--[\\w-]+=' '' | string match -r '.*,')
    for word in $argv
        echo "$before$word"
    end
end

complete -c sandwatch -f
${commands.flatMap(commandLines).join("\n")}
`;
}

function commandLines({ path, commands, options, values }: CompletedCommand): readonly string[] {
  const start = `complete -c sandwatch -n ${quoted(`__sandwatch_at ${quoted(path)}`)}`;
  return [
    ...commands.map(({ name, description }) => `${start} -a ${name} -d ${quoted(description)}`),
    ...options.map((option) => `${start}${optionText(option)}`),
    ...values.filter(({ kind }) => kind !== "any").map((value) => `${start}${valueText(value)}`),
  ];
}

function optionText({ names, description, value }: CompletedOption): string {
  const flags = names.map((name) =>
    name.startsWith("--") ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`,
  );
  return `${flags.join("")} -d ${quoted(description)}${value === null ? "" : ` -r${valueText(value)}`}`;
}

function valueText(value: Values): string {
  if (value.kind === "words") return ` -f -a ${quoted(value.words.join(" "))}`;
  if (value.kind === "list") {
    return ` -f -a ${quoted(`(__sandwatch_list ${value.words.join(" ")})`)}`;
  }
  return value.kind === "file" ? " -F" : " -f";
}

function quoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
}
