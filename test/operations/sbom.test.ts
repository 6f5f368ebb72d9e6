import { expect, it } from "vitest";
import { createSbom } from "../../generate/sbom.ts";

const packages = {
  "": { version: "1.0.0", license: "MIT", dependencies: { server: "^1", both: "^3" } },
  "node_modules/server": {
    version: "1.2.0",
    license: "(MIT OR Apache-2.0)",
    dependencies: { "@scope/part": "^2", base: "^1" },
    optionalDependencies: { absent: "^1" },
  },
  "node_modules/server/node_modules/base": { version: "1.0.0", license: "ISC" },
  "node_modules/@scope/part": {
    version: "2.0.0",
    license: "MIT",
    integrity: `sha512-${Buffer.from("hash").toString("base64")}`,
    dependencies: { base: "^2" },
  },
  "node_modules/base": { version: "2.0.0", license: "ISC" },
  "node_modules/both": { version: "3.0.0", license: "MIT" },
  "node_modules/copied": { version: "4.0.0", license: "MIT", dependencies: { tool: "^5" } },
  "node_modules/tool": { version: "5.0.0", license: "MIT" },
};

const bundled = new Set(["node_modules/copied", "node_modules/both"]);
const sbom = createSbom(packages, bundled, new Date("2026-01-02T03:04:05Z"));

it("lists what is installed and what is bundled, each version once, and nothing else", () => {
  const listed = [
    ["pkg:npm/%40scope/part@2.0.0", "false"],
    ["pkg:npm/base@1.0.0", "false"],
    ["pkg:npm/base@2.0.0", "false"],
    ["pkg:npm/both@3.0.0", "true"],
    ["pkg:npm/copied@4.0.0", "true"],
    ["pkg:npm/server@1.2.0", "false"],
  ].map(([purl, value]) =>
    expect.objectContaining({ purl, properties: [{ name: "sandwatch:bundled", value }] }),
  );
  expect(sbom).toMatchObject({
    bomFormat: "CycloneDX",
    metadata: {
      timestamp: "2026-01-02T03:04:05.000Z",
      component: { name: "sandwatch", version: "1.0.0" },
    },
    components: expect.toSatisfy((all: readonly unknown[]) => all.length === listed.length),
  });
  expect(sbom).toMatchObject({ components: expect.arrayContaining(listed) });
});

it("gives each its licence, its hash and what it needs, of the version that it would load", () => {
  expect(sbom).toMatchObject({
    components: expect.arrayContaining([
      expect.objectContaining({
        group: "@scope",
        name: "part",
        licenses: [{ license: { id: "MIT" } }],
        hashes: [{ alg: "SHA-512", content: Buffer.from("hash").toString("hex") }],
      }),
      expect.objectContaining({
        name: "server",
        licenses: [{ expression: "(MIT OR Apache-2.0)" }],
      }),
    ]),
    dependencies: expect.arrayContaining([
      {
        ref: "pkg:npm/sandwatch@1.0.0",
        dependsOn: ["pkg:npm/both@3.0.0", "pkg:npm/copied@4.0.0", "pkg:npm/server@1.2.0"],
      },
      {
        ref: "pkg:npm/server@1.2.0",
        dependsOn: ["pkg:npm/%40scope/part@2.0.0", "pkg:npm/base@1.0.0"],
      },
      { ref: "pkg:npm/%40scope/part@2.0.0", dependsOn: ["pkg:npm/base@2.0.0"] },
      { ref: "pkg:npm/copied@4.0.0", dependsOn: [] },
    ]),
  });
});
