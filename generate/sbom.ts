/** What package-lock.json says of a package. The key of "" is the project itself. */
export interface LockedPackage {
  readonly version?: string;
  readonly integrity?: string;
  readonly license?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** By folder, such as `node_modules/a/node_modules/b`. */
export type LockedPackages = Readonly<Record<string, LockedPackage>>;

/**
 * A CycloneDX document of the packages that sandwatch is installed with and of those in the bundle, which are not
 * installed. `npm sbom` lists neither the latter nor a package that is both.
 */
export function createSbom(
  packages: LockedPackages,
  bundled: ReadonlySet<string>,
  builtAt: Date,
): unknown {
  const refOf = (folder: string): string => purlOf(folder, packages[folder]);
  // One version may be installed in several folders, and is one component.
  const found = [...installedFrom(packages, new Set(), ""), ...bundled].toSorted();
  const folders = [...new Map(found.map((folder) => [refOf(folder), folder])).values()];
  const refs = new Set(folders.map(refOf));
  const refsOf = (from: readonly string[]): readonly string[] =>
    [...new Set(from.map(refOf))].filter((ref) => refs.has(ref)).toSorted();
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: builtAt.toISOString(),
      component: { type: "application", ...describe("sandwatch", packages[""]) },
    },
    components: folders.map((folder) => ({
      type: "library",
      ...describe(nameOf(folder), packages[folder]),
      properties: [{ name: "sandwatch:bundled", value: String(bundled.has(folder)) }],
    })),
    dependencies: [
      { ref: refOf(""), dependsOn: refsOf([...dependenciesOf(packages, ""), ...bundled]) },
      ...folders.map((folder) => ({
        ref: refOf(folder),
        dependsOn: refsOf(dependenciesOf(packages, folder)),
      })),
    ],
  };
}

/** Adds the folders of what a package needs, and of what these need. */
function installedFrom(packages: LockedPackages, found: Set<string>, folder: string): Set<string> {
  for (const each of dependenciesOf(packages, folder)) {
    if (!found.has(each)) installedFrom(packages, found.add(each), each);
  }
  return found;
}

/** Optional ones that the lock does not have are not installed. */
function dependenciesOf(packages: LockedPackages, folder: string): readonly string[] {
  const { dependencies = {}, optionalDependencies = {} } = packages[folder] ?? {};
  return Object.keys({ ...dependencies, ...optionalDependencies }).flatMap(
    (name) => findFrom(packages, folder, name) ?? [],
  );
}

/** As Node.js finds a package: the nearest `node_modules` that has it. */
function findFrom(packages: LockedPackages, folder: string, name: string): string | undefined {
  const found = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`;
  if (found in packages) return found;
  if (folder === "") return undefined;
  return findFrom(
    packages,
    folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/"))),
    name,
  );
}

function nameOf(folder: string): string {
  return folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
}

function purlOf(folder: string, { version = "" }: LockedPackage = {}): string {
  const name = folder === "" ? "sandwatch" : nameOf(folder);
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function describe(name: string, locked: LockedPackage = {}): object {
  const { version, license, integrity = "" } = locked;
  const [, group, rest = name] = /^(@[^/]+)\/(.+)$/.exec(name) ?? [];
  const [, hash = ""] = /^sha512-(\S+)$/.exec(integrity) ?? [];
  const purl = purlOf(`node_modules/${name}`, locked);
  return {
    "bom-ref": purl,
    ...(group !== undefined && { group }),
    name: rest,
    version,
    purl,
    ...(license !== undefined && {
      licenses: [/[ (]/.test(license) ? { expression: license } : { license: { id: license } }],
    }),
    ...(hash !== "" && {
      hashes: [{ alg: "SHA-512", content: Buffer.from(hash, "base64").toString("hex") }],
    }),
  };
}
