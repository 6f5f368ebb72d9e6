import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { TlsOptions } from "node:tls";
import { asError } from "./as-error.ts";

export interface TlsSettings {
  /** PEM, with the certificates of intermediate authorities behind it. */
  readonly certificateFile: string;
  /** PEM */
  readonly keyFile: string;
  /** PEM; clients must have a certificate of one of these authorities. Null: they need none. */
  readonly clientCaFile: string | null;
  readonly minimumVersion: "1.2" | "1.3";
}

/** With forward secrecy and authenticated encryption alone. Those of TLS 1.3 all have both. */
const ciphers = [
  "TLS_AES_128_GCM_SHA256",
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "ECDHE+AESGCM",
  "ECDHE+CHACHA20",
].join(":");

/** @throws when a file cannot be read */
export function readTls(settings: TlsSettings): TlsOptions {
  const { certificateFile, keyFile, clientCaFile, minimumVersion } = settings;
  return {
    cert: readFileSync(certificateFile),
    key: readFileSync(keyFile),
    ciphers,
    minVersion: `TLSv${minimumVersion}`,
    ...(clientCaFile !== null && {
      ca: readFileSync(clientCaFile),
      requestCert: true,
      rejectUnauthorized: true,
    }),
  };
}

/** What is wrong with the files, for a person; null: nothing. */
export function whyUnusable(settings: TlsSettings): string | null {
  try {
    createSecureContext(readTls(settings));
    return null;
  } catch (error) {
    return `files that cannot be used: ${asError(error).message}`;
  }
}
