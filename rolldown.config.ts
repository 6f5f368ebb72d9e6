import { readFileSync, readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { defineConfig } from "rolldown";
import { createSbom } from "./generate/sbom.ts";
import { builtFolder, compileAssets } from "./src/web/assets.ts";

/**
 * Made part of the program: they are hundreds of small files, which take longer to be found and read
 * than what a command does with them. Everything else is installed beside it.
 */
const included = [
  "@modelcontextprotocol/core",
  "@modelcontextprotocol/server",
  "kysely",
  "yaml",
  "zod",
  "zod-openapi",
];

export default defineConfig({
  platform: "node",
  input: {
    cli: "src/cli.js",
    "client/index": "src/client/index.ts",
  },
  external: (id) => /^[^./]/.test(id) && !included.some((name) => isOf(id, name)),
  plugins: [
    {
      name: "assets",
      generateBundle() {
        for (const [name, source] of compileAssets()) {
          this.emitFile({ type: "asset", fileName: `${builtFolder}/${name}`, source });
        }
      },
    },
    {
      name: "licenses and bill of materials",
      generateBundle(_options, bundle) {
        const modules = Object.values(bundle).flatMap((output) =>
          output.type === "chunk" ? output.moduleIds : [],
        );
        const folders = new Set(modules.flatMap((id) => packageFolder(id) ?? []));
        for (const folder of folders) {
          const fileName = `licenses/${folder.replace("node_modules/", "")}.txt`;
          this.emitFile({ type: "asset", fileName, source: readLicense(folder) });
        }
        const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
        // A build of the same sources at another time is the same, if it is given this variable.
        const epoch = process.env["SOURCE_DATE_EPOCH"];
        const builtAt = epoch === undefined ? new Date() : new Date(Number(epoch) * 1000);
        const source = `${JSON.stringify(createSbom(packages, folders, builtAt), null, 2)}\n`;
        this.emitFile({ type: "asset", fileName: "sbom.cdx.json", source });
      },
    },
  ],
  output: {
    dir: "dist",
    cleanDir: true,
  },
});

/** Parts of a package are imported by paths below its name. */
function isOf(id: string, name: string): boolean {
  return id === name || id.startsWith(`${name}/`);
}

/** The folder of the package that a module is from, as package-lock.json has it. */
function packageFolder(id: string): string | undefined {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(relative(".", id))?.[0];
}

function readLicense(folder: string): string {
  const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
  if (file === undefined) throw new Error(`${folder} has no licence text to distribute`);
  return readFileSync(join(folder, file), "utf8");
}
