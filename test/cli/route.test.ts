import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { configNotes } from "../../src/cli/check-config.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { testConfig } from "../support/test-config.ts";

/** The example of two teams as the document has it, with secrets in place of their files. */
function twoTeams() {
  const document = readFileSync(join(import.meta.dirname, "../../docs/alerts.md"), "utf8");
  const [, section = ""] = document.split("## Who is notified");
  const [, yaml = ""] = /```yaml\n([^`]+)```/.exec(section) ?? [];
  const written = yaml
    .replaceAll(/api_key_file: [/\w-]+\/([\w-]+)/g, "api_key: $1-key")
    .replaceAll(/url_file: [/\w-]+/g, "url: https://hooks.slack.com/services/T0/B0/x")
    .replaceAll(/routing_key_file: [/\w-]+/g, `routing_key: "${"0".repeat(32)}"`);
  const base_url = "https://sandboxes.example";
  const settings: object = parse(written);
  return { ...settings, regions: { us: { base_url }, eu: { base_url } } };
}

const friday = "2026-11-27T12:00Z";
const night = "2026-11-27T22:00Z";

async function route(...args: readonly string[]) {
  const { config } = writeConfig(twoTeams());
  const ended = await runCommand(["route", "--config", config, "--region", "us", ...args]);
  expect(ended.err).toBe("");
  return ended.out;
}

it("check-config says which receivers each target reaches", async () => {
  const { config } = writeConfig(twoTeams());
  const { out, code } = await runCommand(["check-config", "--config", config]);
  expect(code).toBe(0);
  expect(out.split("\n").slice(1, -1)).toEqual([
    "us/search reaches search-chat, office",
    "eu/search reaches search-chat, office",
    "us/agents reaches agents-chat, office",
    "eu/agents reaches agents-chat, office",
  ]);
});

it("route shows who is notified at once, later, and once hours begin", async () => {
  expect(await route("--key", "search", "--server", "github", "--rule", "server-error")).toBe(
    "server-error (critical)\n  at once       search-chat\n  after 15m     lead\n",
  );
  const warning = ["--key", "agents", "--rule", "target-down"];
  expect(await route(...warning, "--at", friday)).toBe(
    "target-down (warning)\n  at once       agents-chat, office\n  after 15m     nobody\n",
  );
  expect(await route(...warning, "--at", night)).toBe(
    "target-down (warning)\n  at once       agents-chat; office when its hours begin\n  after 15m     nobody\n",
  );
  const region = JSON.parse(
    await route("--key", "search", "--rule", "region-down", "--at", night, "--json"),
  );
  expect(region).toEqual({
    rules: [
      {
        rule: "region-down",
        severity: "critical",
        steps: [
          { after_seconds: 0, receivers: ["search-chat", "agents-chat"], when_hours_begin: [] },
          { after_seconds: 900, receivers: ["lead"], when_hours_begin: [] },
        ],
      },
    ],
  });
});

it.each([
  [["--key", "x"], "us/x is no configured target; there are us/search, eu/search, us/agents"],
  [["--key", "search", "--rule", "x"], "x is no configured rule; there are server-error"],
  [["--key", "search", "--at", "soon"], "--at soon is no time; allowed: one such as"],
])("route with %j says what is wrong", async (args, words) => {
  const { config } = writeConfig(twoTeams());
  const ended = await runCommand(["route", "--config", config, "--region", "us", ...args]);
  expect([ended.code, ended.out]).toEqual([2, ""]);
  expect(ended.err).toContain(words);
});

it("notes where somebody is notified of nothing", () => {
  const base_url = "https://sandboxes.example";
  const match = { labels: { team: "search" } };
  const config = testConfig({
    regions: { us: { base_url } },
    keys: [
      { name: "search", api_key: "a", labels: { team: "search" } },
      { name: "agents", api_key: "b" },
    ],
    alerts: {
      receivers: [{ name: "chat", type: "webhook", url: "https://oncall.example/hook", match }],
      rules: [{ name: "server-error", on: "server", status: "error" }],
    },
  });
  expect(configNotes(config)).toEqual([
    "nobody is notified of incidents of server-error in us/agents, as no receiver of these rules matches them",
  ]);
});
