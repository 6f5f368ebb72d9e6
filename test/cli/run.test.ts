import { appendFileSync, closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import { startPeer } from "../service/peer.ts";
import { writeConfig } from "../support/config-file.ts";
import { startOneServerService } from "../support/one-server-service.ts";
import { runCommand } from "../support/run-command.ts";
import {
  runSandwatch,
  startProgram,
  startSandwatch,
  startSandwatchByNpm,
} from "../support/sandwatch-process.ts";
import type { SandwatchProcess } from "../support/sandwatch-process.ts";

const program = join(import.meta.dirname, "../../src/cli.js");
const stopped = { code: 0, signal: null, err: "" };

/** A daemon whose one delivery gets its answer only when that is released, which stopping waits for. */
async function startDelivering(outputFd?: number) {
  const { baseUrl } = await startOneServerService("error");
  const [requested, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const peer = await startPeer((_request, response) => {
    requested.resolve();
    void released.promise.then(() => response.writeHead(204).end());
  });
  const receivers = [{ name: "oncall", type: "webhook", url: peer.baseUrl, group_wait: "0s" }];
  const regions = { us: { base_url: baseUrl } };
  const { config } = writeConfig({ regions, poll: { every: "1s" }, alerts: { receivers } });
  const daemon = startSandwatch(["run", "--config", config], {}, outputFd);
  await requested.promise;
  return { daemon, release: released.resolve };
}

describe("run", () => {
  it("serves, stops at a signal with exit code 0, starts again on the same store, and reloads after a SIGHUP while it starts", async () => {
    const { config } = writeConfig();
    const daemon = startSandwatch(["run", "--config", config]);
    const { address, msg }: { address: string; msg: string } = JSON.parse(
      await daemon.line("daemon.started"),
    );
    expect(msg).toContain(" monitors 1 target; metrics at ");
    const response = await fetch(`${address}/metrics`);
    expect(await response.text()).toContain("sandwatch_build_info{");
    daemon.send("SIGTERM");
    const ended = await daemon.ended;
    expect(ended).toMatchObject(stopped);
    expect(ended.out).not.toContain("T0PSECRET");

    const next = startSandwatch(["run", "--config", config]);
    // The first line of the log, before anything is opened.
    await next.line("config.note");
    next.send("SIGHUP");
    await next.lines("daemon.started", 2);
    next.send("SIGINT");
    expect(await next.ended).toMatchObject(stopped);
  });

  it("started by npm, as the README does, ends when npm gets the signal", async () => {
    const daemon = startSandwatchByNpm(["run", "--config", writeConfig().config]);
    await daemon.line("daemon.started");
    daemon.send("SIGTERM");
    // Its output ends when no process has it any more.
    expect((await daemon.ended).out).toContain('"daemon.stopped"');
  });

  it("refuses a configuration with all faults, with exit code 2, and creates nothing", async () => {
    const keys = [{ name: "research", api_key: "${RESEARCH_API_KEY}" }];
    const { config, store } = writeConfig({ keys, pol: {}, metrics: { per_servr: "off" } });
    const ended = await runCommand(["run", "--config", config]);
    expect(ended).toMatchObject({ code: 2, out: "" });
    for (const part of ["RESEARCH_API_KEY", 'mean "poll"', 'mean "per_server"']) {
      expect(ended.err).toContain(part);
    }
    expect(existsSync(store)).toBe(false);
  });

  it("refuses to let anyone who can reach its address do everything, unless that is configured", async () => {
    const { config, store } = writeConfig({ http: { listen: "0.0.0.0:0" } });
    const ended = await runCommand(["run", "--config", config]);
    const err = expect.stringMatching(/http\.listen: .*but no http\.auth/);
    expect(ended).toMatchObject({ code: 2, out: "", err });
    expect(existsSync(store)).toBe(false);
  });

  it("refuses a store in use in one line", async () => {
    const { config, store } = writeConfig();
    const holder = openStore(store);
    onTestFinished(() => holder.close());
    expect(await runSandwatch(["run", "--config", config])).toMatchObject({
      code: 1,
      err: `The store ${store} is in use by another sandwatch process. Stop that process, or set another store.path.\n`,
    });
  });

  it("continues, and stops at a signal, when its log cannot be written", async () => {
    const full = openSync("/dev/full", "w");
    onTestFinished(() => closeSync(full));
    const { daemon, release } = await startDelivering(full);
    daemon.send("SIGTERM");
    release();
    expect(await daemon.ended).toMatchObject(stopped);
  });

  it("ends at once at a second signal", async () => {
    const { daemon } = await startDelivering();
    daemon.send("SIGTERM");
    await daemon.line("daemon.stopping");
    const again = setInterval(() => daemon.send("SIGTERM"), 100);
    const ended = await daemon.ended;
    clearInterval(again);
    expect(ended).toMatchObject({ code: null, signal: "SIGTERM" });
  });

  it("stops during a reload without starting again, ignores SIGHUP then, and takes a signal that comes again at once for the same one, as npm passes on that of a terminal", async () => {
    const { daemon, release } = await startDelivering();
    daemon.send("SIGHUP");
    await daemon.line("daemon.reloading");
    daemon.send("SIGINT");
    await daemon.line("daemon.stopping");
    daemon.send("SIGINT");
    daemon.send("SIGHUP");
    await daemon.line("SIGHUP is ignored: sandwatch is stopping");
    release();
    const ended = await daemon.ended;
    expect(ended).toMatchObject(stopped);
    expect(ended.out.match(/daemon\.(?:started|reloading)/g)).toHaveLength(2);
    expect(ended.out).toContain("daemon.stopped");
  });

  it("reloads again after a SIGHUP during a reload", async () => {
    const { daemon, release } = await startDelivering();
    daemon.send("SIGHUP");
    await daemon.line("daemon.reloading");
    daemon.send("SIGHUP");
    release();
    await daemon.lines("daemon.started", 3);
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject(stopped);
  });

  it("says in one line why a SIGHUP changes nothing", async () => {
    const { config } = writeConfig({ log: { format: "pretty" } });
    const daemon = startSandwatch(["run", "--config", config]);
    await daemon.line("monitors 1 target");
    appendFileSync(config, "\npolls: {}\n");
    daemon.send("SIGHUP");
    const line = await daemon.line("cannot be used");
    expect(line).toMatch(/ cannot be used: 1 error; 2:1: found /);
    expect(line).not.toContain("\\u{a}");
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject(stopped);
  });
});

/** A daemon that gets the signals before the modules are evaluated. */
function startSignalled(signals: Readonly<Record<string, NodeJS.Signals>>): SandwatchProcess {
  const hook = `import { registerHooks } from "node:module";
    registerHooks({
      load(url, context, nextLoad) {
        const signal = ${JSON.stringify(signals)}[url.split("/src/")[1]];
        if (signal) process.kill(process.pid, signal);
        return nextLoad(url, context);
      },
    });`;
  const preload = `data:text/javascript,${encodeURIComponent(hook)}`;
  return startProgram(["--import", preload, program, "run", "--config", writeConfig().config]);
}

it("while its first and its last modules are loaded, SIGHUP does not end the daemon, and SIGTERM and SIGINT end it with exit code 0", async () => {
  const [first, last] = ["cli/program.ts", "store/sqlite/database.ts"] as const;
  const ends = [
    startSignalled({ [first]: "SIGINT" }),
    startSignalled({ [first]: "SIGHUP", [last]: "SIGTERM" }),
  ];
  for (const { ended } of ends) expect(await ended).toMatchObject(stopped);
});

it.each(["src/cli.js", "src/cli.ts"])("%s names the Node.js that it needs", async (file) => {
  const path = join(import.meta.dirname, "../..", file);
  const older =
    'data:text/javascript,Object.defineProperty(process, "version", { value: "v23.11.1" })';
  const ended = await startProgram(["--import", older, path, "poll"]).ended;
  expect(ended).toMatchObject({ code: 1, out: "" });
  expect(ended.err).toMatch(
    /^sandwatch needs Node\.js 24 or later, and this is Node\.js 23\.11\.1/,
  );
  expect(await startProgram([path, "--version"]).ended).toMatchObject({ code: 0, err: "" });
});

it("a command whose results cannot be written fails with exit code 1", async () => {
  const full = openSync("/dev/full", "w");
  onTestFinished(() => closeSync(full));
  expect(await startSandwatch(["--help"], {}, full).ended).toMatchObject({
    code: 1,
    err: expect.stringContaining("The results could not be written to standard output: ENOSPC"),
  });
});
