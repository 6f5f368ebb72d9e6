/**
 * Holds values against the part of JSON Schema (2020-12) that the interface's document is written in,
 * without any help of the library that wrote it. A keyword that it does not know is an error.
 */

type Schema = Readonly<Record<string, unknown>>;

export function asSchema(value: unknown): Schema {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new TypeError(`${JSON.stringify(value)} is no schema`);
}

/** Where, in an object, the pointer of a `$ref` leads. */
export function resolve(root: unknown, pointer: string): unknown {
  let found = root;
  for (const step of pointer.replace(/^#\//, "").split("/")) found = asSchema(found)[step];
  if (found === undefined) throw new TypeError(`${pointer} leads nowhere`);
  return found;
}

const annotations = new Set(["description", "title"]);

/** What is wrong with a value, each with its path; empty when it conforms. */
export function faultsOf(root: unknown, of: unknown, value: unknown, path = "$"): string[] {
  return Object.entries(asSchema(of)).flatMap(([keyword, wanted]) => {
    if (annotations.has(keyword)) return [];
    return faultsOfKeyword(root, [keyword, wanted], value, path);
  });
}

function faultsOfKeyword(
  root: unknown,
  [keyword, wanted]: readonly [string, unknown],
  value: unknown,
  path: string,
): string[] {
  const fault = (isFault: boolean): string[] => (isFault ? [`${path}: ${keyword}`] : []);
  switch (keyword) {
    case "$ref":
      return faultsOf(root, resolve(root, String(wanted)), value, path);
    case "type":
      return fault(![wanted].flat().some((type) => isOfType(value, type)));
    case "enum":
      return fault(!(Array.isArray(wanted) && wanted.includes(value)));
    case "anyOf":
      return fault(!listOf(wanted).some((of) => faultsOf(root, of, value, path).length === 0));
    case "required":
      return listOf(wanted).flatMap((name) =>
        isObject(value) && !Object.hasOwn(value, String(name)) ? [`${path}.${String(name)}`] : [],
      );
    case "properties":
      if (!isObject(value)) return [];
      return Object.entries(asSchema(wanted)).flatMap(([name, of]) =>
        Object.hasOwn(value, name) ? faultsOf(root, of, value[name], `${path}.${name}`) : [],
      );
    case "additionalProperties":
      if (Object.keys(asSchema(wanted)).length > 0) throw new TypeError("only {} is known here");
      return [];
    case "items":
      return Array.isArray(value)
        ? value.flatMap((item, at) => faultsOf(root, wanted, item, `${path}[${at}]`))
        : [];
    case "format":
      if (wanted !== "date-time") throw new TypeError(`the format ${String(wanted)} is not known`);
      return fault(typeof value === "string" && !/^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value));
    default:
      throw new TypeError(`the keyword ${keyword} is not known`);
  }
}

function isOfType(value: unknown, type: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "boolean":
    case "number":
      return typeof value === type;
    default:
      throw new TypeError(`the type ${String(type)} is not known`);
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw new TypeError(`${JSON.stringify(value)} is no list`);
}
