import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { docker, filesFolder, seen, shell, tryDocker, untilMatches } from "./support/docker.ts";

const config = {
  regions: { us: { base_url: "http://127.0.0.1:1", allow_http: true } },
  keys: [{ name: "research", api_key: "simulated-research" }],
  http: {
    listen: ":9740",
    auth: { anonymous: "viewer", tokens: [] },
  },
};

beforeAll(() => {
  writeFileSync(join(filesFolder, "image.yaml"), JSON.stringify(config));
  mkdirSync(join(filesFolder, "rooted"), { mode: 0o755 });
});

// The check itself is that of the image.
const checkedOften = ["--health-interval", "2s"];
const restricted = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"];
const mounted = ["--volume", `${seen.files}/image.yaml:/etc/sandwatch/sandwatch.yaml:ro`];

async function start(name: string): Promise<void> {
  onTestFinished(async () => void (await tryDocker("rm", "--force", "--volumes", name)));
  const volume = ["--volume", `${name}:/data`, ...checkedOften];
  await docker("run", "--detach", "--name", name, ...restricted, ...mounted, ...volume, image);
}

const image = "sandwatch:0.1.0";
const inspect = (name: string, format: string): Promise<string> =>
  docker("inspect", "--format", format, name);
const healthy = (name: string): Promise<string> =>
  untilMatches("it is healthy", /^healthy/, () => inspect(name, "{{.State.Health.Status}}"));

it("runs as its own user, without capabilities, on a root that is read-only, and is healthy", async () => {
  await start("plain");
  await healthy("plain");
  expect((await docker("exec", "plain", "id", "--user")).trim()).toBe("1000");
  const status = await shell("plain", "cat /proc/1/status");
  expect(status).toMatch(/^CapEff:\s+0+$/m);
  expect(status).toMatch(/^CapBnd:\s+0+$/m);
  expect((await tryDocker("exec", "plain", "touch", "/app/x")).err).toMatch(
    /Read-only file system/,
  );
  expect(await shell("plain", "ls /data")).toContain("sandwatch.db");
});

it("runs commands by `docker exec` without options", async () => {
  await start("commands");
  await healthy("commands");
  expect(await docker("exec", "commands", "sandwatch", "targets")).toMatch(/us\/research/);
  const { code, err } = await tryDocker("exec", "commands", "sandwatch", "reload");
  expect([code, err]).toEqual([1, expect.stringMatching(/token|role/)]);
});

it("stops at SIGTERM with success, and continues from its volume after a stop and a kill", async () => {
  await start("stopped");
  await healthy("stopped");
  const begun = performance.now();
  await docker("stop", "--time", "30", "stopped");
  expect(performance.now() - begun).toBeLessThan(20_000);
  expect(await inspect("stopped", "{{.State.ExitCode}}")).toBe("0\n");
  await docker("start", "stopped");
  await healthy("stopped");
  await docker("kill", "stopped");
  expect(await inspect("stopped", "{{.State.ExitCode}}")).toBe("137\n");
  await docker("start", "stopped");
  await healthy("stopped");
  const logs = await docker("logs", "stopped");
  expect(logs.match(/"daemon.started"/g)).toHaveLength(3);
});

it("says what to do about a volume that belongs to root, and about a configuration with faults", async () => {
  const once = ["run", "--rm", ...restricted];
  const rooted = ["--volume", `${seen.files}/rooted:/data`];
  const refused = await tryDocker(...once, ...mounted, ...rooted, image);
  expect(refused.code).not.toBe(0);
  expect(refused.err).toMatch(/\/data\/sandwatch.db cannot be opened.*Grant access/);

  writeFileSync(join(filesFolder, "faulty.yaml"), JSON.stringify({ ...config, keys: "none" }));
  const faulty = ["--volume", `${seen.files}/faulty.yaml:/etc/sandwatch/sandwatch.yaml:ro`];
  expect(await tryDocker(...once, ...faulty, image)).toMatchObject({
    code: 2,
    err: expect.stringMatching(/keys: found/),
  });
});

it("runs the demo, on a root that is read-only, too", async () => {
  onTestFinished(async () => void (await tryDocker("rm", "--force", "--volumes", "demo")));
  const demo = ["demo", "--host", "0.0.0.0"];
  const name = ["--name", "demo", "--tmpfs", "/tmp", ...checkedOften];
  await docker("run", "--detach", ...name, ...restricted, image, ...demo);
  await healthy("demo");
  const page = await shell("demo", "wget -q -O - http://127.0.0.1:9740/");
  expect(page).toMatch(/<title>/);
});
