import { execFileSync } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { formatFaults } from "../../src/config/faults.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { configOf, faultLines, loadText, writeFiles } from "./support.ts";

const region = 'regions: { us: { base_url: "https://us.example.com" } }\n';
const key = "keys: [{ name: research, api_key: k1 }]\n";
const lines = (count: number, line: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => `${line(n)}\n`).join("");
const regions = (count: number): string =>
  `regions:\n${lines(count, (n) => ` r${n}: { base_url: "https://a.example" }`)}`;
const keys = (count: number): string =>
  `keys:\n${lines(count, (n) => ` - { name: k${n}, api_key: a${n} }`)}`;

/** Milliseconds of this thread's work: others use the machine, too. */
function timed<Value>(work: () => Value): { readonly value: Value; readonly ms: number } {
  const before = process.threadCpuUsage();
  const value = work();
  const { user, system } = process.threadCpuUsage(before);
  return { value, ms: (user + system) / 1_000 };
}

const tooMany = "found more than 100000 names, values and signs";

describe("a configuration is refused in less than a second", () => {
  it.each<readonly [what: string, text: () => string, fault: string]>([
    ["of 10 MB", () => `a: ${"x".repeat(10e6)}`, "it is larger than 1048576 bytes"],
    ["with 40,000 unknown settings", () => lines(40_000, (n) => `name${n}: 1`), tooMany],
    ["with 12,000 of them", () => lines(12_000, (n) => `name${n}: 1`), "unknown setting"],
    ["with 12,000 settings of one name", () => lines(12_000, () => "a: 1"), "given before"],
    ["with half a million brackets", () => "[".repeat(500_000), tooMany],
    ["with 90,000 brackets", () => "[".repeat(90_000), "too many levels"],
    ["with 400,000 dashes", () => `${"- ".repeat(400_000)}a`, tooMany],
    ["with half a million question marks", () => "? ".repeat(500_000), tooMany],
    ["with 900,000 empty lines", () => "\n".repeat(900_000), tooMany],
    ["with 2,500 faulty regions", () => regions(2_500).replaceAll("https", "ftp") + key, "r0"],
    ["with 4 million targets", () => regions(2_000) + keys(2_000), "found 4000000 targets"],
    [
      "with 100,000 targets of probes",
      () =>
        `${regions(50)}${keys(40)}probes:\n${lines(50, (n) => ` - { name: p${n}, operation: universes }`)}`,
      "found more than 50000 targets of probes",
    ],
    [
      "with 1,500 misspelt names of 1,500",
      () => {
        const long = "region-with-a-long-name-number";
        const all = regions(1_500).replaceAll(/ r(?=\d+:)/g, ` ${long}-`);
        return `${all}keys:\n${lines(1_500, (n) => ` - { name: k${n}, api_key: a${n}, regions: [${long.replace("name", "nmae")}-${n}] }`)}`;
      },
      "did you mean",
    ],
    [
      "with names in 1,500 rules that are not configured",
      () =>
        `${region}${keys(600)}alerts:\n rules:\n${lines(1_500, (n) => `  - { name: r${n}, on: server, status: error, match: { key: "x*${n}" } }`)}`,
      "found no configured target that matches",
    ],
    [
      "with 100,000 aliases",
      () => `a: &a x\nb: [${"*a, ".repeat(100_000)}]`,
      "found more than 500 aliases",
    ],
    [
      "with 90 aliases of a large part",
      () => `a: &a [${"1, ".repeat(20_000)}]\n${lines(90, (n) => `b${n}: *a`)}`,
      "found too many aliases",
    ],
    [
      "with aliases of aliases",
      () =>
        `a0: &a0 [x, x, x, x, x, x, x, x, x]\n${lines(7, (n) => `a${n + 1}: &a${n + 1} [${`*a${n}, `.repeat(9)}]`)}`,
      "found too many aliases",
    ],
    [
      "with huge numbers",
      () =>
        `${region}${key}poll: { gone_after: 1e999, timeout: ${"9".repeat(10_000)}h, stale_after: 0x${"f".repeat(10_000)} }`,
      "poll.gone_after",
    ],
  ])("%s", (_, text, fault) => {
    const file = writeFiles({ "sandwatch.yaml": text() });
    const { value, ms } = timed(() => {
      const loaded = loadConfig(file, {});
      return loaded.kind === "ok" ? "" : formatFaults("configuration", loaded.faults);
    });
    expect(value).toContain(fault);
    expect(value.length).toBeLessThan(50_000);
    expect(ms).toBeLessThan(1_000);
  });

  it("that names a long environment variable, or a long file, very often", () => {
    const long = writeFiles({ long: "x".repeat(60_000) });
    const files = lines(1_000, (n) => ` - { name: k${n}, api_key_file: ${long} }`);
    for (const text of [
      `${region}${key}log: { level: "${"${LONG}".repeat(140_000)}" }\n`,
      `${region}keys:\n${files}`,
    ]) {
      const { value, ms } = timed(() => faultLines(loadText(text, { LONG: "x".repeat(100_000) })));
      const found =
        "found environment variables and secret files with more than 4194304 characters in all";
      expect(value).toContainEqual(expect.stringContaining(found));
      expect(ms).toBeLessThan(1_000);
    }
  });

  it("that is a pipe to which nobody writes, a device or a socket", async () => {
    const folder = tempFolder();
    const [pipe, socket] = [join(folder, "pipe"), join(folder, "socket")];
    execFileSync("mkfifo", [pipe]);
    const server = createServer();
    onTestFinished(() => void server.close());
    await new Promise<void>((resolve) => server.listen(socket, resolve));
    for (const [file, why] of [
      [pipe, "it is a pipe; write its content to a file"],
      ["/dev/zero", "it is a device"],
      [socket, "it cannot be read (ENXIO)"],
    ] as const) {
      const { value, ms } = timed(() => faultLines(loadConfig(file, {})));
      expect(value).toEqual([
        `found a file that cannot be used: ${why}; allowed: a configuration in YAML`,
      ]);
      expect(ms).toBeLessThan(1_000);
    }
    const secret = `${region}keys: [{ name: research, api_key_file: ${pipe} }]`;
    expect(faultLines(loadText(secret))).toEqual([
      expect.stringContaining(`${pipe}: it is a pipe; write its content to a file;`),
    ]);
  });
});

it("a configuration of 40,000 targets, and one of 3,000 keys in files, are read", () => {
  expect(configOf(loadText(regions(100) + keys(400))).keys).toHaveLength(400);
  const named = lines(3_000, (n) => `  - name: key-${n}\n    api_key: "\${KEY}-${n}"`);
  const many = timed(() => configOf(loadText(`${region}keys:\n${named}`, { KEY: "k" })));
  expect(many.value.keys).toHaveLength(3_000);
  expect(many.ms).toBeLessThan(2_000);
});

it("of very many errors the first are listed", () => {
  const [title, ...listed] = formatFaults(
    "c.yaml",
    (() => {
      const loaded = loadText(region + key + lines(60, (n) => `name${n}: 1`));
      return loaded.kind === "ok" ? [] : loaded.faults;
    })(),
  ).split("\n");
  expect(title).toBe("c.yaml cannot be used: more than 50 errors");
  expect(listed).toHaveLength(50);
});
