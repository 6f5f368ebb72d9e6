import { createRequire } from "node:module";

/** Read from package.json, which a package finds by its own name, from wherever its files are. */
export const version: string = readVersion();

/** The commit that was built, where the build knew it. */
export const revision: string = process.env["SANDWATCH_REVISION"] ?? "unknown";

function readVersion(): string {
  const manifest: unknown = createRequire(import.meta.url)("sandwatch/package.json");
  const isManifest = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return isManifest ? String(manifest.version) : "unknown";
}

/** How sandwatch names itself to the service and to receivers. */
export const userAgent = `sandwatch/${version}`;
