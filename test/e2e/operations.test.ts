import { execFile, execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
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

it.skipIf(!isHere("kubectl")).each(["example", "standby"])(
  "kustomize builds %s, all of it in its namespace",
  async (name) => {
    const folder = join(config, "kubernetes", name);
    const { stdout } = await run("kubectl", ["kustomize", folder], { maxBuffer: 16 * 1024 * 1024 });
    const manifest = z.looseObject({
      kind: z.string(),
      metadata: z.looseObject({ namespace: z.string().optional() }),
    });
    const manifests = parseAllDocuments(stdout).map((document) => manifest.parse(document.toJS()));
    const elsewhere = manifests
      .filter(({ metadata }) => metadata.namespace !== "sandwatch")
      .map(({ kind }) => kind);
    expect(elsewhere).toEqual(["Namespace"]);
    const dashboards = Array.from(stdout.matchAll(/name: (sandwatch-dashboard-\w+)$/gm));
    expect(dashboards.length).toBe(3);
    expect(stdout.match(/grafana_dashboard: "1"/g)?.length).toBe(dashboards.length);
    // The generated names have been put where they are used.
    const names = Array.from(stdout.matchAll(/name: (sandwatch-(?:config|secrets)-\w+)$/gm));
    expect(names.length).toBe(4);
    const [, count] = /^  replicas: (\d+)$/m.exec(stdout) ?? [];
    expect(count).toBe(name === "standby" ? "2" : "1");
  },
);

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
