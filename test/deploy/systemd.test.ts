import { beforeAll, expect, it } from "vitest";
import { docker, shell, tryDocker, untilMatches } from "./support/docker.ts";

const machine = "machine";
const run = (commands: string): Promise<string> => shell(machine, commands);
const tryRun = (commands: string) => tryDocker("exec", machine, "bash", "-euc", commands);
const show = (property: string): Promise<string> =>
  run(`systemctl show sandwatch --property ${property} --value`);

const config = `
regions: { us: { base_url: "http://127.0.0.1:9750/us", allow_http: true } }
keys: [{ name: research, api_key_file: "\${CREDENTIALS_DIRECTORY}/research" }]
poll: { every: 2s }
http: { auth: { anonymous: viewer, tokens: [{ name: ops, role: admin, token: "\${SANDWATCH_TOKEN}" }] } }
`;

const override = `
[Service]
LoadCredential=research:/etc/sandwatch/research.key
`;

/** A machine with systemd, on which sandwatch is installed as the unit describes, from what \`npm pack\` makes. */
beforeAll(async () => {
  const writable = ["--tmpfs", "/run", "--tmpfs", "/run/lock", "--tmpfs", "/tmp:exec"];
  const options = ["--detach", "--name", machine, "--privileged", "--env", "container=docker"];
  await docker("run", ...options, ...writable, "systemd");
  await untilMatches("systemd runs", /^running/, () => run("systemctl is-system-running"));
  // Without it, systemd cannot show credentials to a service.
  await run("mount --make-rshared /");
  await run(`
    install --directory /etc/sandwatch /etc/systemd/system/sandwatch.service.d
    umask 077
    echo simulated-research >/etc/sandwatch/research.key
    echo SANDWATCH_TOKEN=0123456789abcdef0123456789abcdef >/etc/sandwatch/environment
    umask 022
    cat >/etc/sandwatch/sandwatch.yaml <<'END'${config}END
    cat >/etc/systemd/system/sandwatch.service.d/override.conf <<'END'${override}END
    systemctl daemon-reload
    systemd-run --unit simulator sandwatch simulate --port 9750`);
});

it("starts, with a credential as a key and a user of its own, and is reached when systemctl returns", async () => {
  await run("systemctl start sandwatch");
  expect(await run("wget -q -O - http://127.0.0.1:9740/-/healthy")).toMatch(/ok|healthy/);
  await untilMatches("it polls", /^ready/, () => run("wget -q -O - http://127.0.0.1:9740/-/ready"));
  expect(await run("sandwatch targets --url http://127.0.0.1:9740")).toMatch(/us\/research/);
  const pid = (await show("MainPID")).trim();
  const status = await run(`cat /proc/${pid}/status`);
  expect(status).toMatch(/^CapEff:\s+0+$/m);
  expect(status).not.toMatch(/^Uid:\s+0\s/m);
});

it("reloads, and fails with the reason when the daemon refuses its configuration", async () => {
  const edit = (from: string, to: string) =>
    run(`sed -i 's/${from}/${to}/' /etc/sandwatch/sandwatch.yaml`);
  const started = () => run("journalctl --unit sandwatch --output cat | grep -c daemon.started");
  await run("systemctl reload sandwatch");
  await untilMatches("it has reloaded", /^2$/m, started);

  await edit("every: 2s", "every: 2x");
  expect((await tryRun("systemctl reload sandwatch")).code).not.toBe(0);
  expect(await run("journalctl --unit sandwatch --output cat")).toMatch(/found "2x"/);
  // Only the process that runs is without the variable.
  await edit("every: 2x", 'every: "${SANDWATCH_EVERY}"');
  await run("echo SANDWATCH_EVERY=3s >>/etc/sandwatch/environment");
  expect((await tryRun("systemctl reload sandwatch")).code).not.toBe(0);
  const journal = await run("journalctl --unit sandwatch --output cat");
  expect(journal).toMatch(/The daemon refuses its configuration[^]*SANDWATCH_EVERY/);
  expect(await started()).toBe("2\n");
  await run("systemctl restart sandwatch");
});

it("is started again after a kill, and not with a configuration that has faults", async () => {
  await run("systemctl kill --signal KILL --kill-who main sandwatch");
  await untilMatches("it was started again", /^1$/m, () => show("NRestarts"));
  await untilMatches("it is active", /^active$/m, () => show("ActiveState"));
  await run("systemctl stop sandwatch");
  expect(await show("Result")).toBe("success\n");
  await run("sed -i 's/^poll:/pool:/' /etc/sandwatch/sandwatch.yaml");
  expect((await tryRun("systemctl start sandwatch")).code).not.toBe(0);
  expect([await show("ActiveState"), await show("NRestarts")]).toEqual(["failed\n", "0\n"]);
});
