import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";

export const schemaFile = join(import.meta.dirname, "../../config/sandwatch.schema.json");

// The one word that JSON Schema does not know is for editors.
const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, strictTypes: false });
ajv.addVocabulary(["errorMessage"]);
const validate = ajv.compile(JSON.parse(readFileSync(schemaFile, "utf8")));

/** What the JSON Schema finds fault with in a configuration, each as `/keys/0/name must be string`. */
export function schemaFaults(value: unknown): readonly string[] {
  // As it would be in a file, where nothing is undefined.
  const written: unknown = JSON.parse(JSON.stringify(value));
  if (validate(written)) return [];
  // That a kind's schema does not fit says nothing beside why it does not.
  const faults = (validate.errors ?? []).filter(({ keyword }) => keyword !== "if");
  return faults.map(({ instancePath, message }) => `${instancePath} ${message}`);
}
