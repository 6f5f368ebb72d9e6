import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { renameSync } from "node:fs";
import { join } from "node:path";
import { docker, engineFolder, filesFolder, root, seen, untilMatches } from "./docker.ts";

const script = join(import.meta.dirname, "engine.sh");
const context = join(engineFolder, "context");

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
}

/** Starts a Docker engine of its own and builds every image. @returns what ends and removes it */
export async function setup(): Promise<() => Promise<void>> {
  if (process.getuid?.() !== 0 || !existsSync("/etc/debian_version")) {
    throw new Error("The tests of deployments need Debian, as root.");
  }
  run("bash", [script, engineFolder, "prepare"]);
  const log = openSync(join(engineFolder, "engine.log"), "w");
  const engine = spawn("bash", [script, engineFolder, "run", root], {
    stdio: ["ignore", log, log],
  });
  const ended = once(engine, "exit");
  const tearDown = async (): Promise<void> => {
    engine.kill("SIGTERM");
    await ended;
    run("bash", [script, engineFolder, "remove"]);
  };
  try {
    await untilMatches("the engine answers", /^26\./, () =>
      docker("version", "--format", "{{.Server.Version}}"),
    );
    await removeContainers();
    await buildImages();
  } catch (error) {
    await tearDown();
    throw error;
  }
  return async () => {
    await removeContainers();
    await tearDown();
  };
}

/** Also those of an earlier run that was killed. */
async function removeContainers(): Promise<void> {
  const containers = (await docker("ps", "--all", "--quiet")).split("\n").filter(Boolean);
  if (containers.length > 0) await docker("rm", "--force", "--volumes", ...containers);
  await docker("network", "prune", "--force");
  await docker("volume", "prune", "--all", "--force");
  await docker("image", "prune", "--force");
}

async function buildImages(): Promise<void> {
  for (const folder of [context, filesFolder]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
  }
  cpSync(join(import.meta.dirname, "stand-ins"), context, { recursive: true });
  copyFileSync(join(root, "node_modules/node/bin/node"), join(context, "node"));
  copyFileSync("/etc/ssl/certs/ca-certificates.crt", join(context, "ca-certificates.crt"));
  copyFileSync(join(root, "config/systemd/sandwatch.service"), join(context, "sandwatch.service"));
  run("npm", ["pack", "--silent", "--pack-destination", context, "npm@11"]);
  run("npm", ["pack", "--silent", "--pack-destination", context]);
  for (const name of readdirSync(context)) {
    const [, packed] = /^(npm|sandwatch)-.*\.tgz$/.exec(name) ?? [];
    if (packed !== undefined) renameSync(join(context, name), join(context, `${packed}.tgz`));
  }
  const build = (folder: string, tag: string, ...options: readonly string[]): Promise<string> =>
    docker("build", "--network", "host", "--tag", tag, ...options, folder);
  // Imported again, it would be another image, from which all others would be built again.
  if (!(await docker("images", "--quiet", "debian:bookworm-slim"))) {
    await docker("import", "/folder/debian.tar", "debian:bookworm-slim");
  }
  await build(seen.context, "node:24-bookworm-slim", "--target", "node");
  await build(seen.root, "sandwatch:0.1.0");
  for (const [tag, target] of [
    ["prom/prometheus:v3.13.4", "prometheus"],
    ["prom/alertmanager:v0.30.1", "alertmanager"],
    ["postgres:17.6", "postgres"],
    ["systemd", "systemd"],
  ] as const) {
    await build(seen.context, tag, "--target", target);
  }
}
