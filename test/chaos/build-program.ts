import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildProgram } from "../../bench/support/daemon.ts";

const root = join(import.meta.dirname, "../..");

/** What makes the fence, and what replaces it in a program that has none. */
const fence: readonly { readonly file: string; readonly from: string; readonly to: string }[] = [
  // Of a target.
  {
    file: "src/store/poll-commits.ts",
    from: '    .where("version", "=", before)\n',
    to: "",
  },
  // Of a process.
  {
    file: "src/store/postgres/writer.ts",
    from: "      if (results.at(-1)?.rowCount !== 1) throw lose(otherWriter);\n",
    to: "      if (results.length === 0) throw lose(otherWriter);\n",
  },
];

/** Builds the program without the fence, out of a copy of its sources. @returns the file to run */
export async function buildUnfenced(folder: string): Promise<string> {
  const copy = join(folder, "unfenced");
  mkdirSync(copy);
  for (const name of [
    "src",
    "generate",
    "package.json",
    "package-lock.json",
    "rolldown.config.ts",
  ]) {
    cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  for (const { file, from, to } of fence) {
    const text = readFileSync(join(copy, file), "utf8");
    if (text.split(from).length !== 2) throw new Error(`${file} has no single: ${from}`);
    writeFileSync(join(copy, file), text.replace(from, to));
  }
  return buildProgram(folder, copy);
}
