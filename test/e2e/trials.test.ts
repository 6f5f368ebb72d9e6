import { closeSync, openSync, rmSync, statSync, writeFileSync, writeSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it, onTestFinished } from "vitest";
import { runSandwatch, startSandwatchWithFewFiles } from "../support/sandwatch-process.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { fillDisk, mountSmallDisk, prepareTrial } from "./support/trial.ts";
import { until } from "./support/until.ts";

it("a disk that is full keeps nothing from being notified once it has space again (skipped where no file system can be mounted)", async ({
  skip,
}) => {
  const disk = mountSmallDisk(3 * 2 ** 20);
  if (!disk) return skip("this user may not mount a file system");
  const trial = await prepareTrial({ servers: 500, folder: disk.path });
  const daemon = await trial.start();
  const filler = join(disk.path, "filler");
  fillDisk(filler);
  trial.showAll("error");
  expect(await daemon.line("poll.failed")).toContain("database or disk is full");
  expect(await daemon.readiness()).toMatch(/^503 .*did not accept the last poll.*disk is full/s);
  expect(trial.peer.alerts).toEqual([]);

  rmSync(filler);
  await daemon.line("poll.recovered");
  await until("ready", async () => (await daemon.readiness()).startsWith("200"));
  await trial.peer.received(1);
  const incidents = trial.peer.alerts.flatMap(({ data }) => data.incidents.map(({ id }) => id));
  expect([incidents.length, new Set(incidents).size]).toEqual([500, 500]);
  daemon.send("SIGTERM");
  expect(await daemon.ended).toMatchObject({ code: 0, err: "" });
  expect(await runSandwatch(["store", "check", "--config", trial.config])).toMatchObject({
    code: 0,
  });
});

it("a start on a disk that is full or read-only is refused with what to do, and works later (skipped where no file system can be mounted)", async ({
  skip,
}) => {
  const disk = mountSmallDisk(3 * 2 ** 20);
  if (!disk) return skip("this user may not mount a file system");
  const trial = await prepareTrial({ folder: disk.path });
  fillDisk(join(disk.path, "filler"));
  const full = await runSandwatch(["run", "--config", trial.config]);
  expect([full.code, full.err]).toEqual([1, expect.stringMatching(/disk is full.*Free space/)]);
  rmSync(join(disk.path, "filler"));
  const daemon = await trial.start();
  daemon.send("SIGTERM");
  expect(await daemon.ended).toMatchObject({ code: 0, err: "" });

  expect(disk.makeReadOnly()).toBe(true);
  const readOnly = await runSandwatch(["run", "--config", trial.config]);
  expect([readOnly.code, readOnly.err]).toEqual([
    1,
    expect.stringMatching(/file system is read-only/),
  ]);
  // What it has can still be looked at.
  const targets = await runSandwatch(["targets", "--config", trial.config]);
  expect(targets).toMatchObject({ code: 0, out: expect.stringContaining("key-0") });
});

it("a store that is damaged while sandwatch runs fails its commits, is refused at the next start, and is restored from a backup", async () => {
  const trial = await prepareTrial({ servers: 500 });
  const first = await trial.start();
  first.send("SIGTERM");
  await first.ended;
  const backup = join(tempFolder(), "backup.db");
  const withConfig = ["--config", trial.config];
  expect(await runSandwatch(["backup", backup, ...withConfig])).toMatchObject({ code: 0 });

  const daemon = await trial.start();
  damage(trial.store);
  trial.showAll("error");
  expect(await daemon.line("poll.failed")).toContain("database disk image is malformed");
  expect(await daemon.readiness()).toMatch(/^503 .*did not accept the last poll/);
  daemon.send("SIGTERM");
  expect(await daemon.ended).toMatchObject({ code: 0, err: "" });
  const refused = await runSandwatch(["run", ...withConfig]);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("is damaged")]);

  expect(await runSandwatch(["restore", backup, ...withConfig])).toMatchObject({ code: 0 });
  expect(trial.peer.alerts).toEqual([]);
  const restored = await trial.start();
  await trial.peer.received(1);
  restored.send("SIGTERM");
  expect(await restored.ended).toMatchObject({ code: 0, err: "" });
});

/** Overwrites a part of each page but the first. */
function damage(file: string): void {
  const opened = openSync(file, "r+");
  const junk = Buffer.alloc(2_000, 0xa5);
  for (let at = 4_096; at < statSync(file).size; at += 4_096) {
    writeSync(opened, junk, 0, junk.length, at);
  }
  closeSync(opened);
}

it("names that cannot be resolved fail polls and deliveries until they can, and lose nothing", async () => {
  const folder = tempFolder();
  const broken = join(folder, "broken");
  const resolver = join(folder, "resolver.mjs");
  // Names of this domain have this machine's address, unless there is that file.
  writeFileSync(
    resolver,
    `import dns from "node:dns";
     import { existsSync } from "node:fs";
     import { syncBuiltinESMExports } from "node:module";
     dns.lookup = (name, options, callback) => {
       const isBroken = name.endsWith(".test") && existsSync(${JSON.stringify(broken)});
       const code = isBroken ? "EAI_AGAIN" : null;
       if (code) return void setImmediate(callback, Object.assign(new Error(\`getaddrinfo \${code} \${name}\`), { code }));
       const address = "127.0.0.1";
       setImmediate(() => (options.all ? callback(null, [{ address, family: 4 }]) : callback(null, address, 4)));
     };
     syncBuiltinESMExports();`,
  );
  const trial = await prepareTrial({ host: "peers.test" });
  writeFileSync(broken, "");
  const daemon = await trial.start((args) =>
    startSandwatch(args, { NODE_OPTIONS: `--import ${resolver}` }),
  );
  expect(await daemon.line("target.lost")).toContain("host name not found (EAI_AGAIN)");
  await daemon.line("incident.fired");
  expect(await daemon.line("notification.retry")).toContain("EAI_AGAIN");

  rmSync(broken);
  await daemon.line("target.returned");
  trial.show(0, "error");
  await until("notified of an error", async () =>
    trial.peer.alerts.some(({ data }) => data.rule === "server-error"),
  );
  const sent = trial.peer.alerts.map(({ type, data }) => `${data.rule} ${type}`);
  expect(new Set(sent).size).toBe(sent.length);
  expect(await daemon.metric("sandwatch_notifications_dead")).toBe(0);
  daemon.send("SIGTERM");
  expect(await daemon.ended).toMatchObject({ code: 0, err: "" });
});

it("with too few descriptors for its targets and clients, sandwatch still answers, notifies that targets are down, and goes on once answers come in time", async () => {
  const targets = 100;
  const trial = await prepareTrial({ keys: targets });
  const daemon = await trial.start((args) => startSandwatchWithFewFiles(64, args));
  // Clients that send nothing, and clients that have been answered.
  const { hostname, port } = new URL(daemon.address);
  for (let opened = 0; opened < 100; opened += 1) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
    if (opened % 2 === 0) socket.write("GET /-/healthy HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n");
  }
  trial.fail({ kind: "latency", ms: 700 });
  await daemon.line("target.lost");
  await trial.peer.received(1);
  expect(await daemon.readiness()).toMatch(/^200/);

  trial.fail();
  await until(
    "all targets are up",
    async () => (await daemon.metric("sandwatch_target_up")) === targets,
  );
  trial.show(0, "error");
  await until("notified of an error", async () =>
    trial.peer.alerts.some(({ data }) => data.rule === "server-error"),
  );
  expect(await daemon.metric("sandwatch_store_commit_failures_total")).toBe(0);
  daemon.send("SIGTERM");
  const ended = await daemon.ended;
  expect(ended).toMatchObject({ code: 0, err: "" });
  expect(ended.out).not.toContain("EMFILE");
});

it("a process that was stopped claims nothing of that time, and goes on", async () => {
  const trial = await prepareTrial();
  const daemon = await trial.start();
  const stoppedMs = performance.now();
  daemon.send("SIGSTOP");
  // More than ten intervals: by then a loop is dead.
  const leastMs = 12_000;
  await until("stopped for long", async () => performance.now() - stoppedMs > leastMs);
  trial.show(0, "error");
  daemon.send("SIGCONT");
  await trial.peer.received(1);
  expect(await daemon.readiness()).toMatch(/^200/);
  expect(trial.peer.alerts.map(({ data }) => data.rule)).toEqual(["server-error"]);
  daemon.send("SIGTERM");
  expect(await daemon.ended).toMatchObject({ code: 0, err: "" });
  using store = new DatabaseSync(trial.store, { readOnly: true });
  const gaps = store.prepare("select to_at_ms - from_at_ms as ms from gaps").all();
  expect(Math.max(...gaps.map(({ ms }) => Number(ms)))).toBeGreaterThanOrEqual(leastMs);
});
