import { statSync } from "node:fs";
import type { TlsOptions } from "node:tls";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { readTls, type TlsSettings } from "../lib/tls.ts";

/** A server whose certificate can be replaced. */
interface SecureServer {
  setSecureContext(options: TlsOptions): void;
}

const lookEveryMs = 60_000;

/**
 * Reads the files again when one of them has changed, once a minute.
 *
 * @returns stops it
 */
export function renewTls(
  server: SecureServer,
  settings: TlsSettings,
  log: Pick<Logger, "info" | "error">,
  clock: Clock,
): () => void {
  let known = changesOf(settings);
  let cancel = (): void => {};
  const look = (): void => {
    const found = changesOf(settings);
    if (found !== known) {
      try {
        server.setSecureContext(readTls(settings));
        known = found;
        log.info(
          { event: "http.certificate_renewed" },
          "the certificate of the HTTP server was read again",
        );
      } catch (error) {
        // Perhaps only one of the files has been replaced yet.
        log.error(
          { event: "http.certificate_unusable", err: error },
          "the changed certificate of the HTTP server cannot be used; the previous one stays in use",
        );
      }
    }
    cancel = clock.setTimer(lookEveryMs, look);
  };
  cancel = clock.setTimer(lookEveryMs, look);
  return () => cancel();
}

/** Changes with any of the files. */
function changesOf({ certificateFile, keyFile, clientCaFile }: TlsSettings): string {
  return [certificateFile, keyFile, clientCaFile ?? certificateFile]
    .map((file) => {
      const stats = statSync(file, { throwIfNoEntry: false });
      return `${stats?.ino ?? 0} ${stats?.size ?? 0} ${stats?.mtimeMs ?? 0}`;
    })
    .join("\n");
}
