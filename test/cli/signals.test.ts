import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startOneServerService } from "../support/one-server-service.ts";
import { startProgram, startSandwatch } from "../support/sandwatch-process.ts";
import type { SandwatchProcess } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const program = join(import.meta.dirname, "../../src/cli.js");

/** A configuration whose service cannot be reached. */
function writeConfig(settings = "", regionUrl = "https://us.invalid"): string {
  const folder = tempFolder();
  const config = join(folder, "sandwatch.yaml");
  writeFileSync(
    config,
    `
regions: { us: { base_url: "${regionUrl}" } }
keys: [{ name: research, api_key: T0PSECRET }]
poll: { every: 1s }
store: { path: ${join(folder, "sandwatch.db")} }
http: { listen: "127.0.0.1:0" }
${settings}
`,
  );
  return config;
}

/** A daemon that gets the signal at the moment when it loads the module, before that is evaluated. */
function startSignalled(module: string, signal: string): SandwatchProcess {
  const hook = `import { registerHooks } from "node:module";
    registerHooks({
      load(url, context, nextLoad) {
        if (url.endsWith("/src/${module}")) process.kill(process.pid, "${signal}");
        return nextLoad(url, context);
      },
    });`;
  const preload = `data:text/javascript,${encodeURIComponent(hook)}`;
  return startProgram(["--import", preload, program, "run", "--config", writeConfig()]);
}

/** A daemon whose one delivery gets its answer only when that is released, which stopping waits for. */
async function startDelivering() {
  const { baseUrl } = await startOneServerService("error");
  const delivered = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const peer = createServer((_, response) => {
    delivered.resolve();
    void released.promise.then(() => response.writeHead(204).end());
  });
  peer.listen(0, "127.0.0.1");
  await once(peer, "listening");
  onTestFinished(() => {
    peer.closeAllConnections();
    peer.close();
  });
  const address = peer.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const receiver = `{ name: oncall, type: webhook, url: "http://127.0.0.1:${address.port}", group_wait: 0s }`;
  const config = writeConfig(`alerts: { receivers: [${receiver}] }`, baseUrl);
  const daemon = startSandwatch(["run", "--config", config]);
  await delivered.promise;
  return { daemon, release: released.resolve };
}

const phases = ["cli/program.ts", "cli/run.ts", "store/sqlite/database.ts"];

describe("while the program is being loaded", () => {
  it.each(phases)("SIGHUP at %s does not end it: it starts", async (module) => {
    const daemon = startSignalled(module, "SIGHUP");
    await Promise.race([daemon.line("daemon.started"), daemon.ended]);
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: 0, signal: null, err: "" });
  });

  it.each(phases)("SIGTERM and SIGINT at %s end it with exit code 0", async (module) => {
    const daemons = ["SIGTERM", "SIGINT"].map((signal) => startSignalled(module, signal));
    for (const { ended } of daemons) {
      expect(await ended).toMatchObject({ code: 0, signal: null, err: "" });
    }
  });
});

it("SIGTERM while it starts ends it with exit code 0", async () => {
  const daemon = startSandwatch(["run", "--config", writeConfig()]);
  // The first line of the log, before anything is opened.
  await daemon.line("config.note");
  daemon.send("SIGTERM");
  expect(await daemon.ended).toMatchObject({ code: 0, signal: null, err: "" });
});

describe("during a reload", () => {
  it("SIGTERM ends it with exit code 0, without starting again first", async () => {
    const { daemon, release } = await startDelivering();
    daemon.send("SIGHUP");
    await daemon.line("daemon.reloading");
    daemon.send("SIGTERM");
    await daemon.line("daemon.stopping");
    release();
    const ended = await daemon.ended;
    expect(ended).toMatchObject({ code: 0, signal: null, err: "" });
    expect(ended.out.match(/daemon\.started/g)).toHaveLength(1);
    expect(ended.out).toContain("daemon.stopped");
  });

  it("another SIGHUP leads to another reload", async () => {
    const { daemon, release } = await startDelivering();
    daemon.send("SIGHUP");
    await daemon.line("daemon.reloading");
    daemon.send("SIGHUP");
    release();
    await daemon.lines("daemon.started", 3);
    daemon.send("SIGTERM");
    expect(await daemon.ended).toMatchObject({ code: 0, signal: null, err: "" });
  });
});

it("SIGHUP while it stops is ignored, with a line in the log", async () => {
  const { daemon, release } = await startDelivering();
  daemon.send("SIGTERM");
  await daemon.line("daemon.stopping");
  daemon.send("SIGHUP");
  await Promise.race([daemon.line("SIGHUP is ignored: sandwatch is stopping"), daemon.ended]);
  release();
  const ended = await daemon.ended;
  expect(ended).toMatchObject({ code: 0, signal: null, err: "" });
  expect(ended.out).toContain("config.ignored");
  expect(ended.out).not.toContain("daemon.reloading");
});
