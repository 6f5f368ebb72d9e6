import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { tempFolder } from "../support/temp-folder.ts";

const unit = readFileSync(
  join(import.meta.dirname, "../../config/systemd/sandwatch.service"),
  "utf8",
);

/** The settings of the unit; of one that occurs several times the last. */
const settings: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from(unit.matchAll(/^(\w+)=(.*)$/gm), ([, name = "", value = ""]) => [name, value]),
);

it("the unit runs the daemon, reloads it by SIGHUP, and does not restart it for a configuration error", () => {
  expect(settings).toMatchObject({
    ExecStart: "sandwatch run --config /etc/sandwatch/sandwatch.yaml",
    ExecReload: "/bin/kill -HUP $MAINPID",
    StateDirectory: "sandwatch",
    WorkingDirectory: "%S/sandwatch",
    Restart: "always",
    RestartPreventExitStatus: String(exitCodes.wrongUse),
  });
});

it("the unit has no rights, and nothing to write to but its own", () => {
  expect(settings).toMatchObject({
    DynamicUser: "yes",
    CapabilityBoundingSet: "",
    NoNewPrivileges: "yes",
    ProtectSystem: "strict",
    ProtectHome: "yes",
    PrivateDevices: "yes",
  });
  expect(settings).not.toHaveProperty("MemoryDenyWriteExecute");
});

it("a credential of systemd can be a key, as the unit says", () => {
  const line = /`(api_key_file: \$\{CREDENTIALS_DIRECTORY\}\/(\w+))`/.exec(unit);
  const [, setting = "", name = ""] = line ?? [];
  expect(unit).toContain(`LoadCredential=${name}:`);
  const folder = tempFolder();
  const file = join(folder, "sandwatch.yaml");
  writeFileSync(join(folder, name), "T0PSECRET\n");
  writeFileSync(
    file,
    `regions: { us: { base_url: "https://us.example.com" } }\nkeys:\n  - name: research\n    ${setting}\n`,
  );
  const loaded = loadConfig(file, { CREDENTIALS_DIRECTORY: folder }, { logFormat: "json" });
  expect(loaded.kind).toBe("ok");
});
