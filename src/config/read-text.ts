import { readFileSync, statSync } from "node:fs";

export type TextRead =
  | { readonly kind: "read"; readonly text: string }
  /** `why` does not name the file: what was given as its name may be the secret itself. */
  | { readonly kind: "failed"; readonly why: string };

const reasons = new Map([
  ["ENOENT", "it does not exist"],
  ["ENOTDIR", "it does not exist"],
  ["EACCES", "it may not be read"],
  ["EPERM", "it may not be read"],
  ["EISDIR", "it is a directory"],
]);

/** Reads a file as UTF-8, without a byte order mark. */
export function readText(file: string, mostBytes: number): TextRead {
  try {
    const stat = statSync(file);
    // A device has no size and perhaps no end; a pipe has an end.
    if (stat.isCharacterDevice() || stat.isBlockDevice()) return failed("it is a device");
    if (stat.size > mostBytes) return failed(`it is larger than ${mostBytes} bytes`);
    return {
      kind: "read",
      text: new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(file)),
    };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return failed("it is not UTF-8 text");
    return failed(reasons.get(code) ?? `it cannot be read (${code})`);
  }
}

function failed(why: string): TextRead {
  return { kind: "failed", why };
}
