import { join } from "node:path";
import { createMemoryStream, main } from "assemblyscript/asc";

const head =
  "// Made of src/service/listing/assembly by `npm run generate`: what is changed here is lost.\n";
const root = join(import.meta.dirname, "..");
const entry = "src/service/listing/assembly/texts.ts";

/** The program that texts of a listing are compared by, compiled, as a module. */
export async function textsAssembly(): Promise<string> {
  const options = ["--optimizeLevel", "3", "--noAssert", "--runtime", "stub", "--enable", "simd"];
  const places = ["--baseDir", root, "--outFile", "texts.wasm"];
  const faults = createMemoryStream();
  const written = new Map<string, string | Uint8Array>();
  const { error } = await main([entry, ...options, ...places], {
    stderr: faults,
    writeFile: (name, contents) => void written.set(name, contents),
  });
  const program = written.get("texts.wasm");
  if (error || !program) throw new Error(`${entry} can not be compiled: ${faults.toString()}`);
  return `${head}\nexport const texts =\n  "${Buffer.from(program).toString("base64")}";\n`;
}
