import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { configOf } from "../config/support.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";

const us = ["--region", "us=https://us.example.com"];

/** Runs it on a terminal where a person gives these answers, and then Ctrl-D. */
async function runAnswering(args: readonly string[], answers: readonly string[]) {
  const asked: { readonly question: string; readonly isHidden: boolean }[] = [];
  let out = "";
  let err = "";
  const code = await runProgram(args, {
    out: (text) => (out += text),
    err: (text) => (err += text),
    isInteractive: true,
    ask(question, isHidden = false) {
      asked.push({ question, isHidden });
      return Promise.resolve(answers[asked.length - 1] ?? null);
    },
  });
  return { code, out, err, asked };
}

describe("init", () => {
  it("writes a configuration that is valid once the variables of its keys are set", async () => {
    const output = join(tempFolder(), "sandwatch.yaml");
    const eu = ["--region", "eu=https://eu.example.com/api"];
    const keys = ["--key", "research", "--key", "2nd.key", "--key", "true"];
    const ended = await runCommand(["init", "--output", output, ...us, ...eu, ...keys]);
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out).toContain("set the environment variable RESEARCH_API_KEY to it");
    expect(ended.out).toContain(`sandwatch run --config ${output}`);
    const environment = { RESEARCH_API_KEY: "a", KEY_2ND_KEY_API_KEY: "b", TRUE_API_KEY: "c" };
    const { regions, keys: read } = configOf(loadConfig(output, environment));
    expect([...regions].map(([name, { baseUrl }]) => [name, baseUrl])).toEqual([
      ["us", "https://us.example.com"],
      ["eu", "https://eu.example.com/api"],
    ]);
    expect(read.map(({ name, apiKey }) => [name, apiKey.reveal()])).toEqual([
      ["research", "a"],
      ["2nd.key", "b"],
      ["true", "c"],
    ]);
    expect(readdirSync(join(output, ".."))).toEqual(["sandwatch.yaml"]);
  });

  it("writes what nobody else can write, whatever the umask is", async () => {
    const umask = process.umask(0);
    onTestFinished(() => void process.umask(umask));
    const output = join(tempFolder(), "sandwatch.yaml");
    await runCommand(["init", "--output", output, ...us, "--key", "research"]);
    expect(statSync(output).mode & 0o777).toBe(0o644);
  });

  it("shows settings that are valid when they are enabled, and are the defaults but for receivers", async () => {
    const output = join(tempFolder(), "sandwatch.yaml");
    await runCommand(["init", "--output", output, ...us, "--key", "research"]);
    const text = readFileSync(output, "utf8");
    const environment = {
      RESEARCH_API_KEY: "a",
      SLACK_WEBHOOK_URL: "https://slack.example.com/x",
      PAGERDUTY_ROUTING_KEY: "0".repeat(32),
    };
    const before = configOf(loadConfig(output, environment));
    writeFileSync(output, text.replaceAll(/^#(?! \S|$)/gm, ""));
    const { alerts, ...rest } = configOf(loadConfig(output, environment));
    expect(alerts.receivers.map(({ type }) => type)).toEqual(["slack", "pagerduty"]);
    expect(rest).toEqual({ ...before, alerts: undefined });
  });

  it("asks on a terminal for what is not given, again if the answer cannot be used, and hides API keys", async () => {
    const folder = tempFolder();
    const output = join(folder, "sandwatch.yaml");
    const answers = ["no name", "us", "ftp://x", "https://us.example.com", "research", "two words"];
    const { code, out, err, asked } = await runAnswering(
      ["init", "--output", output],
      [...answers, "T0PSECRET"],
    );
    expect([code, asked.length]).toEqual([0, 7]);
    expect(err.match(/^Allowed: .*$/gm)).toHaveLength(3);
    const questions = asked.map(({ question }) => question).join("\n");
    expect(out + err + questions).not.toContain("T0PSECRET");
    expect(asked.map(({ isHidden }) => isHidden)).toEqual([...Array(5).fill(false), true, true]);
    const file = join(folder, "research.key");
    expect(out).toContain(`API key of research: it is in ${file}`);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(output, "utf8")).not.toContain("T0PSECRET");
    expect(configOf(loadConfig(output, {})).keys[0]?.apiKey.reveal()).toBe("T0PSECRET");
  });

  it("takes an API key from a variable if none is typed", async () => {
    const output = join(tempFolder(), "sandwatch.yaml");
    const { out, asked } = await runAnswering(
      ["init", "--output", output, ...us, "--key", "research"],
      [""],
    );
    expect(asked).toHaveLength(1);
    expect(out).toContain("RESEARCH_API_KEY");
  });

  it("writes nothing when it is interrupted, and says without a terminal what is missing", async () => {
    const folder = tempFolder();
    const output = join(folder, "sandwatch.yaml");
    expect(await runAnswering(["init", "--output", output], ["us"])).toMatchObject({
      code: 1,
      err: "Nothing was written.\n",
    });
    expect(await runCommand(["init", "--output", output])).toMatchObject({
      code: 2,
      err: "Give --region NAME=URL and --key NAME. On a terminal, init asks for what is not given.\n",
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it.each([
    [["--region", "us"], "--region must be NAME=URL"],
    [["--region", "u s=https://a.example"], "--region must be NAME=URL"],
    [["--region", "us=http://us.example.com"], "found an address without encryption"],
    [["--region", "us=nowhere"], "regions.us.base_url"],
    [[...us, "--key", "a b"], "keys[1].name"],
    [[...us, "--key", "a-b", "--key", "a.b"], "an API key that has another name"],
  ])("refuses %j and writes nothing", async (args, message) => {
    const folder = tempFolder();
    const output = join(folder, "sandwatch.yaml");
    const ended = await runCommand(["init", "--output", output, "--key", "research", ...args]);
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
    expect(readdirSync(folder)).toEqual([]);
  });

  it("replaces neither a configuration nor the file of a key", async () => {
    const folder = tempFolder();
    const [output, file] = [join(folder, "sandwatch.yaml"), join(folder, "research.key")];
    writeFileSync(file, "dear");
    const args = ["init", "--output", output, ...us, "--key", "research"];
    const { code, err } = await runAnswering(args, ["T0PSECRET"]);
    expect([code, err]).toEqual([
      1,
      `${file} could not be written: it exists. Nothing was written.\n`,
    ]);
    expect([readFileSync(file, "utf8"), existsSync(output)]).toEqual(["dear", false]);
    writeFileSync(output, "dear");
    expect((await runCommand(args)).err).toContain("exists. Give another name with --output.");
    expect(readFileSync(output, "utf8")).toBe("dear");
    const nowhere = join(folder, "nowhere", "sandwatch.yaml");
    expect((await runCommand(["init", "--output", nowhere])).err).toContain("does not exist");
  });
});
