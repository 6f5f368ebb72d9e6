import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { version } from "../../src/lib/version.ts";

const root = join(import.meta.dirname, "../..");

function read(name: string): string {
  return readFileSync(join(root, name), "utf8");
}

/** What the Dockerfile copies from the checkout. */
const copied = Array.from(read("Dockerfile").matchAll(/^COPY (?!--from)(.+) \S+$/gm))
  .flatMap(([, sources = ""]) => sources.split(" "))
  .filter((path, index, all) => all.indexOf(path) === index);

it("everything that the Dockerfile copies exists, and .dockerignore excludes everything else", () => {
  for (const path of copied) expect([path, existsSync(join(root, path))]).toEqual([path, true]);
  const [nothing, ...but] = read(".dockerignore").trim().split("\n");
  expect(nothing).toBe("*");
  expect(but.toSorted()).toEqual(copied.map((path) => `!${path}`).toSorted());
});

it("the image has the package's command", () => {
  const { bin }: { bin: Record<string, string> } = JSON.parse(read("package.json"));
  const file = bin["sandwatch"] ?? "";
  expect(read("Dockerfile")).toContain(`chmod +x ${file}\n`);
  expect(read("Dockerfile")).toContain(`RUN ln -s /app/${file} /usr/local/bin/sandwatch\n`);
  expect(read("src/cli.js")).toMatch(/^#!\/usr\/bin\/env node\n/);
});

it("commands in a container use the configuration that the daemon runs with", () => {
  const [, command = ""] = /^CMD (.+)$/m.exec(read("Dockerfile")) ?? [];
  const [run, option, file]: string[] = JSON.parse(command);
  expect([run, option]).toEqual(["run", "--config"]);
  expect(read("Dockerfile")).toContain(`\nENV SANDWATCH_CONFIG=${file}\n`);
});

it("Node.js gets the same arguments in the image, as a service and in a checkout", () => {
  const [, entry = ""] = /^ENTRYPOINT (.+)$/m.exec(read("Dockerfile")) ?? [];
  const [node, ...args]: string[] = JSON.parse(entry);
  const program = args.pop();
  expect([node, program]).toEqual(["node", "/app/dist/cli.js"]);
  expect(args.length).toBeGreaterThan(0);
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read("package.json"));
  expect(scripts["start"]).toBe(`exec node ${args.join(" ")} src/cli.js demo`);
  expect(scripts["sandwatch"]).toBe(`exec node ${args.join(" ")} src/cli.js`);
  expect(read("config/systemd/sandwatch.service")).toContain(
    `\nEnvironment=NODE_OPTIONS=${args.join(" ")}\n`,
  );
});

it("memory settings and the compile cache are the same in the image and as a service", () => {
  const dockerfile = read("Dockerfile");
  const unit = read("config/systemd/sandwatch.service");
  for (const setting of ["MALLOC_ARENA_MAX=1", "MALLOC_MMAP_THRESHOLD_=131072"]) {
    expect(dockerfile).toContain(`\nENV ${setting}\n`);
    expect(unit).toContain(`\nEnvironment=${setting}\n`);
  }
  const [, volume = ""] = /^VOLUME (.+)$/m.exec(dockerfile) ?? [];
  expect(dockerfile).toContain(`\nENV NODE_COMPILE_CACHE=${volume}/`);
  const [, folder = ""] = /^CacheDirectory=(.+)$/m.exec(unit) ?? [];
  expect(unit).toContain(`\nEnvironment=NODE_COMPILE_CACHE=%C/${folder}\n`);
});

it("the image has every configuration that the build reads", () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read("package.json"));
  const projects = Array.from(scripts["build"]?.matchAll(/-p (\S+)/g) ?? [], ([, name]) => name);
  expect(projects.length).toBeGreaterThan(0);
  expect(scripts["build"]).toMatch(/^rolldown -c /);
  const imported = Array.from(
    read("rolldown.config.ts").matchAll(/ from "\.\/((?!src\/).+)"/g),
    ([, path]) => path,
  );
  expect(copied).toEqual(expect.arrayContaining([...projects, ...imported, "rolldown.config.ts"]));
});

/** What is in the image, of the stages of the Dockerfile. */
const lastStage =
  read("Dockerfile")
    .split(/^FROM /m)
    .at(-1) ?? "";

it("the image is not based on one with npm, and its health check runs without Node.js", () => {
  expect(lastStage).toMatch(/^debian:/);
  expect(lastStage).not.toMatch(/\bRUN npm\b/);
  const [, check = ""] = /^HEALTHCHECK .*\\\n {2}CMD ((?:.*\\\n)*.*)$/m.exec(lastStage) ?? [];
  expect(check).toContain("wget -q -O /dev/null -t 1 -T 4 http://127.0.0.1:9740/-/healthy");
  expect(check).not.toContain("node");
  expect(lastStage).toMatch(/apt-get install .* wget\b/);
});

it("labels say of the image what package.json says", () => {
  const labels = Object.fromEntries(
    Array.from(
      lastStage.matchAll(/org\.opencontainers\.image\.([\w.]+)="(.*)"/g),
      ([, name = "", value = ""]) => [name, value],
    ),
  );
  const { name, description, license, homepage, repository } = JSON.parse(read("package.json"));
  const [, base = ""] = /^(\S+)/.exec(lastStage) ?? [];
  expect(labels).toEqual({
    title: name,
    description,
    version,
    revision: "$REVISION",
    licenses: license,
    url: homepage,
    source: repository.url.replace(/^git\+/, ""),
    "base.name": `docker.io/library/${base}`,
  });
});
