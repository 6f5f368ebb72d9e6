import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { describe, expect, it } from "vitest";
import { startProgram } from "../support/sandwatch-process.ts";

const root = join(import.meta.dirname, "../..");
const programs = ["src/cli.js", "src/cli.ts"];
const sentence = (version: string): string =>
  `sandwatch needs Node.js 24 or later, and this is Node.js ${version}: install a newer one from https://nodejs.org/, or in a checkout run "npm ci", which fetches one, and then "npm run --silent sandwatch -- COMMAND".\n`;

/** Every older Node.js that this machine has, with its version. */
const olderNodes = [...new Set([...(process.env["PATH"] ?? "").split(delimiter), "/usr/bin"])]
  .map((folder) => join(folder, "node"))
  .filter((file) => existsSync(file))
  .map((file) => ({ file, version: versionOf(file) }))
  .filter(({ version }) => /^\d+\./.test(version) && Number.parseInt(version, 10) < 24);

function versionOf(file: string): string {
  return spawnSync(file, ["--version"], { encoding: "utf8" }).stdout.trim().slice(1);
}

describe("an older Node.js gets one sentence about what is needed and how to get it", () => {
  it.each(programs)("as %s sees its version", async (program) => {
    const older =
      'data:text/javascript,Object.defineProperty(process, "version", { value: "v23.11.1" })';
    const ended = await startProgram(["--import", older, join(root, program), "poll"]).ended;
    expect(ended).toEqual({ code: 1, signal: null, out: "", err: sentence("23.11.1") });
  });

  it.skipIf(olderNodes.length === 0).each(programs)("from %s on a real one", (program) => {
    for (const { file, version } of olderNodes) {
      const ended = spawnSync(file, [join(root, program), "poll"], { encoding: "utf8" });
      expect(ended).toMatchObject({ status: 1, stdout: "", stderr: sentence(version) });
    }
  });
});

it("a Node.js that is new enough runs the command", async () => {
  for (const program of programs) {
    const ended = await startProgram([join(root, program), "--version"]).ended;
    expect(ended).toMatchObject({ code: 0, err: "" });
  }
});
