import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** What makes the fence, and what replaces it in a program that has none. */
const fence: readonly { readonly file: string; readonly from: string; readonly to: string }[] = [
  // Of a target.
  {
    file: "src/store/postgres/target-rows.ts",
    from: " and targets.version = polled.version\n",
    to: "\n",
  },
  {
    file: "src/store/target-rows.ts",
    from: '      .where("version", "=", version)\n',
    to: "",
  },
  // Of a process.
  {
    file: "src/store/postgres/writer.ts",
    from: "      if (results.at(-1)?.rowCount !== 1) throw lose(otherWriter);\n",
    to: "      if (results.length === 0) throw lose(otherWriter);\n",
  },
];

/**
 * A copy of the program's sources without the fence, which runs from them.
 *
 * @returns the file to run
 */
export function copyUnfenced(folder: string): string {
  const copy = join(folder, "unfenced");
  mkdirSync(copy);
  for (const name of ["src", "package.json"]) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  for (const { file, from, to } of fence) {
    const text = readFileSync(join(copy, file), "utf8");
    if (text.split(from).length !== 2) throw new Error(`${file} has no single: ${from}`);
    writeFileSync(join(copy, file), text.replace(from, to));
  }
  return join(copy, "src/cli.js");
}
