import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { exitCodes } from "../../src/cli/exit-codes.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { startPeer } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const unit = readFileSync(
  join(import.meta.dirname, "../../config/systemd/sandwatch.service"),
  "utf8",
);

/** The settings of the unit; of one that occurs several times the last. */
const settings: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from(unit.matchAll(/^(\w+)=(.*)$/gm), ([, name = "", value = ""]) => [name, value]),
);

it("the unit runs the daemon, asks it to reload, and does not restart it for a configuration with faults", () => {
  expect(settings).toMatchObject({
    ExecStart: "sandwatch run --config /etc/sandwatch/sandwatch.yaml",
    ExecReload: "sandwatch reload --config /etc/sandwatch/sandwatch.yaml",
    StateDirectory: "sandwatch",
    WorkingDirectory: "%S/sandwatch",
    Restart: "always",
    RestartPreventExitStatus: String(exitCodes.wrongUse),
  });
});

it("the daemon notifies systemd, by its program, when it serves, and logs if that fails", async () => {
  expect(settings).toMatchObject({ Type: "notify", NotifyAccess: "all" });
  const notified = Promise.withResolvers<string>();
  const peer = await startPeer((request, response) => {
    notified.resolve(request.url ?? "");
    response.end();
  });
  const folder = tempFolder();
  const program = `#!${process.execPath}
    const args = process.argv.slice(2).join(" ");
    void fetch(\`${peer.baseUrl}/\${encodeURIComponent(args + " to " + process.env.NOTIFY_SOCKET)}\`);`;
  writeFileSync(join(folder, "systemd-notify"), program, { mode: 0o755 });
  const environment = { PATH: folder, NOTIFY_SOCKET: "/run/systemd/notify" };
  const { config } = writeConfig();
  const daemon = startSandwatch(["run", "--config", config], environment);
  expect(decodeURIComponent(await notified.promise)).toBe("/--ready to /run/systemd/notify");
  await daemon.line("daemon.started");
  daemon.send("SIGTERM");
  expect((await daemon.ended).out).not.toContain("systemd.");

  const alone = startSandwatch(["run", "--config", config], { ...environment, PATH: "/nowhere" });
  expect(await alone.line("systemd.not_notified")).toContain("ENOENT");
  alone.send("SIGTERM");
  expect(await alone.ended).toMatchObject({ code: 0 });
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
