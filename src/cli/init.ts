import { randomUUID } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { parseBaseUrl } from "../config/address.ts";
import { formatFaults } from "../config/faults.ts";
import { headerPattern, namePattern, nameAllowed } from "../config/fields.ts";
import { loadConfig } from "../config/load-config.ts";
import { counted } from "../fleet/text.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import { collected } from "./options.ts";
import type { Terminal } from "./terminal.ts";

export function addInit(program: Command, terminal: Terminal): void {
  program
    .command("init")
    .description("write a first configuration; asks for what is not given, if run on a terminal")
    .option("--output <file>", "the file to write, which must not exist", "sandwatch.yaml")
    .option(
      "--region <name=url>",
      "a region and the base address of the service there; can be repeated",
      collected,
    )
    .option("--key <name>", "the name of an API key; can be repeated", collected)
    .action(({ output, region, key }) => init(output, region ?? [], key ?? [], terminal));
}

interface Region {
  readonly name: string;
  readonly url: string;
}

/** Without an API key, it is read from an environment variable. */
interface Key {
  readonly name: string;
  readonly apiKey: string | null;
}

async function init(
  output: string,
  givenRegions: readonly string[],
  givenKeys: readonly string[],
  terminal: Terminal,
): Promise<void> {
  refuseExisting(output);
  const missing = [
    ...(givenRegions.length === 0 ? ["--region NAME=URL"] : []),
    ...(givenKeys.length === 0 ? ["--key NAME"] : []),
  ];
  if (missing.length > 0 && !terminal.ask) {
    throw wrongUse(
      `Give ${missing.join(" and ")}. On a terminal, init asks for what is not given.`,
    );
  }
  const questions = createQuestions(terminal);
  const regions =
    givenRegions.length > 0 ? givenRegions.map(readRegion) : [await questions.region()];
  const names = givenKeys.length > 0 ? givenKeys : [await questions.keyName()];
  const keys: Key[] = [];
  for (const name of new Set(names)) {
    keys.push({ name, apiKey: await questions.apiKey(name, fileOf(output, name)) });
  }
  writeChecked(output, regions, keys);

  terminal.out(`${output}: ${counted(regions.length, "region")}, ${counted(keys.length, "key")}\n`);
  for (const { name, apiKey } of keys) {
    const where =
      apiKey === null
        ? `set the environment variable ${variableOf(name)} to it`
        : `it is in ${fileOf(output, name)}`;
    terminal.out(`API key of ${name}: ${where}\n`);
  }
  const file = / /.test(output) ? JSON.stringify(output) : output;
  terminal.out(
    `\nNext:\n  sandwatch doctor --config ${file}   checks everything that it needs\n  sandwatch run --config ${file}      runs the daemon\n`,
  );
}

function refuseExisting(file: string): void {
  if (existsSync(file)) throw new CommandError(`${file} exists. Give another name with --output.`);
  if (!existsSync(dirname(resolve(file)))) {
    throw new CommandError(`The folder ${dirname(resolve(file))} does not exist.`);
  }
}

function readRegion(text: string): Region {
  const [, name = "", url = ""] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  if (namePattern.test(name) && url !== "") return { name, url };
  throw wrongUse(`--region must be NAME=URL with ${nameAllowed}: us=https://us.example.com`);
}

/** Each question is repeated until the answer can be used. */
function createQuestions({ ask, err }: Terminal) {
  const answer = async <Value>(
    question: string,
    read: (text: string) => Value | undefined,
    allowed: string,
    isHidden = false,
  ): Promise<Value> => {
    for (;;) {
      const text = (await ask?.(question, isHidden)) ?? null;
      if (text === null) throw new CommandError("Nothing was written.");
      const value = read(text.trim());
      if (value !== undefined) return value;
      err(`Allowed: ${allowed}\n`);
    }
  };
  const readName = (text: string) => (namePattern.test(text) ? text : undefined);
  return {
    async region(): Promise<Region> {
      const name = await answer("Name of a region (such as us): ", readName, nameAllowed);
      const url = await answer(
        `Base address of the service in ${name} (https://...): `,
        (text) => parseBaseUrl(text),
        "an https address without user, password and query, such as https://us.example.com",
      );
      return { name, url };
    },
    keyName: () => answer("Name of an API key (such as research): ", readName, nameAllowed),
    async apiKey(name: string, file: string): Promise<string | null> {
      if (!ask) return null;
      const variable = variableOf(name);
      const apiKey = await answer(
        `API key ${name}, which is written to ${file} and not shown (empty: it is in the environment variable ${variable}): `,
        (text) => (text === "" || headerPattern.test(text) ? text : undefined),
        "visible ASCII characters without blanks",
        true,
      );
      return apiKey === "" ? null : apiKey;
    },
  };
}

function variableOf(key: string): string {
  const name = `${key.toUpperCase().replaceAll(/[^A-Z0-9]/g, "_")}_API_KEY`;
  return /^\d/.test(name) ? `KEY_${name}` : name;
}

/** Beside the configuration. */
function fileOf(output: string, key: string): string {
  return join(dirname(output), `${key}.key`);
}

/** Writes the configuration and the files of its keys, or nothing. No file is replaced. */
function writeChecked(output: string, regions: readonly Region[], keys: readonly Key[]): void {
  const text = configText(regions, keys);
  const draft = `${output}.${randomUUID().slice(0, 8)}.partial`;
  const written: string[] = [];
  const write = (file: string, content: string, mode: number): void => {
    try {
      writeFileSync(file, content, { flag: "wx", mode });
      written.push(file);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      const why = code === "EEXIST" ? "it exists" : code;
      throw new CommandError(`${file} could not be written: ${why}. Nothing was written.`);
    }
  };
  try {
    for (const { name, apiKey } of keys) {
      if (apiKey !== null) write(fileOf(output, name), `${apiKey}\n`, 0o600);
    }
    // Anyone who can write it decides where the keys are sent.
    write(draft, text, 0o644);
    const loaded = loadConfig(draft, environmentWith(keys));
    if (loaded.kind === "faulty") throw wrongUse(formatFaults(output, loaded.faults));
    write(output, text, 0o644);
    rmSync(draft);
  } catch (error) {
    for (const file of written) rmSync(file, { force: true });
    throw error;
  }
}

/** With a value for each variable that is not set yet. */
function environmentWith(keys: readonly Key[]) {
  const missing = new Map(keys.map(({ name }) => [variableOf(name), `to-be-set-${name}`]));
  const isSet = ([, value]: [string, string | undefined]): boolean => Boolean(value);
  return {
    ...Object.fromEntries(missing),
    ...Object.fromEntries(Object.entries(process.env).filter(isSet)),
  };
}

/** A name as YAML reads it as text. */
function yamlName(name: string): string {
  const isPlain = /^[A-Za-z][A-Za-z0-9_-]*$/.test(name) && !/^(?:true|false|null)$/i.test(name);
  return isPlain ? name : JSON.stringify(name);
}

/** Lines that begin with `#` and a blank are prose; without it, settings to be enabled. */
function configText(regions: readonly Region[], keys: readonly Key[]): string {
  const keyLines = keys.flatMap(({ name, apiKey }) => [
    `  - name: ${yamlName(name)}`,
    apiKey === null
      ? `    api_key: \${${variableOf(name)}}`
      : `    api_key_file: ${JSON.stringify(basename(fileOf("", name)))}`,
  ]);
  return `# The configuration of sandwatch. Only regions and keys are required. Remove the # before a setting to enable it; the
# values shown are the defaults, but for receivers. All settings: docs/configuration.md and config/sandwatch.example.yaml.
#
# \${NAME} is replaced by an environment variable. Secrets can also be read from files: api_key_file, url_file and so on.
# A path is resolved against the folder of this file.

# The deployments of the service, each with its base address. The names are used as labels.
regions:
${regions.map(({ name, url }) => `  ${yamlName(name)}: { base_url: ${JSON.stringify(url)} }`).join("\n")}

# The API keys, each with the name that metrics, messages and commands use. A key is used in every region, unless it has
# a setting such as regions: [${yamlName(regions[0]?.name ?? "us")}].
keys:
${keyLines.join("\n")}

# How listings are polled. Set rate_limit to the limit of your account.
#poll:
#  schedule: "*/30 * * * * *"
#  timeout: 10s
#  rate_limit: { requests: 2, per: 1s }

# The database. A relative path is resolved against the working directory.
#store:
#  path: data/sandwatch.db

# Status page, metrics, health checks and API. An address that others can reach needs auth: docs/access.md.
#http:
#  listen: "127.0.0.1:9740"

# Who is notified. Without receivers nobody is. Without rules these apply, to every receiver: a server or
# sandbox is in error, a key is refused, polls fail, listings are partial, a region fails. More types and settings:
# docs/receivers.md.
#alerts:
#  receivers:
#    - name: oncall
#      type: slack
#      url: \${SLACK_WEBHOOK_URL}
#    - name: pager
#      type: pagerduty
#      routing_key: \${PAGERDUTY_ROUTING_KEY}
`;
}
