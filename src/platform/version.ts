import { readFileSync } from "node:fs";

/** Read from package.json, which lies two folders above, in a checkout as in the package. */
export const version: string = readVersion();

/** The commit that was built, where the build was told. */
export const revision: string = process.env["SANDWATCH_REVISION"] ?? "unknown";

function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const manifest: unknown = JSON.parse(text);
  const isManifest = typeof manifest === "object" && manifest !== null && "version" in manifest;
  return isManifest ? String(manifest.version) : "unknown";
}

/** How sandwatch names itself to the service and to receivers. */
export const userAgent = `sandwatch/${version}`;
