import { join } from "node:path";
import { createMemoryStream, main } from "assemblyscript/asc";

const root = join(import.meta.dirname, "..");
const options = ["--optimizeLevel", "3", "--noAssert", "--runtime", "stub", "--enable", "simd"];

/**
 * A program for WebAssembly, compiled, as a module that exports it under its name.
 *
 * @param folder where it is, with its source in a folder of its own
 */
export async function assemblyModule(folder: string, name: string): Promise<string> {
  const entry = `${folder}/assembly/${name}.ts`;
  const places = ["--baseDir", root, "--outFile", "program.wasm"];
  const faults = createMemoryStream();
  const written = new Map<string, string | Uint8Array>();
  const { error } = await main([entry, ...options, ...places], {
    stderr: faults,
    writeFile: (file, contents) => void written.set(file, contents),
  });
  const program = written.get("program.wasm");
  if (error || !program) throw new Error(`${entry} can not be compiled: ${faults.toString()}`);
  return (
    `// Made of ${folder}/assembly by \`npm run generate\`: what is changed here is lost.\n` +
    `\nexport const ${name} =\n  "${Buffer.from(program).toString("base64")}";\n`
  );
}
