import { readFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "rolldown";
import { builtFolder, compileAssets } from "./src/web/assets.ts";

/**
 * Made part of the program: they are hundreds of small files, which take longer to be found and read
 * than what a command does with them. Everything else is installed beside it.
 */
const included = ["kysely", "yaml", "zod", "zod-openapi"];

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
      name: "licenses",
      generateBundle() {
        for (const name of included) {
          const source = readFileSync(join("node_modules", name, "LICENSE"), "utf8");
          this.emitFile({ type: "asset", fileName: `${name}.LICENSE.txt`, source });
        }
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
