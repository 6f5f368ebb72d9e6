import { execFile, execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { prometheusFolder, ruleFiles } from "../support/rule-files.ts";
import { tempFolder } from "../support/temp-folder.ts";

const run = promisify(execFile);
const config = join(prometheusFolder, "..");

function isHere(program: string): boolean {
  try {
    execFileSync("which", [program], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

it("promtool accepts every rule", async () => {
  const files = ruleFiles.map((name) => join(prometheusFolder, name));
  const { stdout } = await run("promtool", ["check", "rules", "--lint-fatal", ...files]);
  expect(stdout.match(/SUCCESS/g)?.length).toBe(files.length);
});

it.each(readdirSync(join(prometheusFolder, "tests")))("promtool passes %s", async (name) => {
  const file = join(prometheusFolder, "tests", name);
  const { stdout } = await run("promtool", ["test", "rules", file]);
  expect(stdout).toContain("SUCCESS");
});

it("Prometheus and Alertmanager accept the configurations that they are given", async () => {
  for (const name of ["prometheus.yaml", "prometheus-standby.yaml"]) {
    await run("promtool", ["check", "config", "--syntax-only", join(config, "compose", name)]);
  }
  const ofAlertmanager = join(config, "compose/alertmanager.yaml");
  const { stdout } = await run("amtool", ["check-config", ofAlertmanager]);
  expect(stdout).toContain("SUCCESS");
});

it.skipIf(!isHere("systemd-analyze"))(
  "systemd accepts the unit and finds it well confined",
  async () => {
    const unit = readFileSync(join(config, "systemd/sandwatch.service"), "utf8");
    const file = join(tempFolder(), "sandwatch.service");
    // It looks for the program too.
    writeFileSync(file, unit.replaceAll(/^(Exec\w+=)sandwatch/gm, `$1${process.execPath}`));
    const { stderr } = await run("systemd-analyze", ["verify", file]);
    expect(stderr).toBe("");
    const security = ["security", "--offline=yes", "--threshold=20", file];
    const { stdout } = await run("systemd-analyze", security);
    expect(stdout).toContain("Overall exposure level");
  },
);
