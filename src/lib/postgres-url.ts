import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

/** How a connection to PostgreSQL is encrypted and what is checked of the server, as `sslmode` of libpq. */
const sslModes = ["disable", "require", "verify-ca", "verify-full"] as const;
type SslMode = (typeof sslModes)[number];

export type PostgresAddress = NonNullable<ReturnType<typeof parsePostgresUrl>>;

const parameters = new Set(["host", "port", "user", "sslmode", "sslrootcert"]);

/**
 * Reads `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, with `sslmode` and `sslrootcert` as libpq has them, and with `host`
 * for a folder of a Unix socket. Without `sslmode`, a server at another machine must prove its name.
 *
 * @returns undefined for anything else
 */
export function parsePostgresUrl(text: string) {
  const url = /^postgres(?:ql)?:\/\//.test(text) ? URL.parse(text) : null;
  if (!url || url.hash !== "") return undefined;
  const given = url.searchParams;
  if ([...given.keys()].some((each) => !parameters.has(each))) return undefined;
  try {
    const host = given.get("host") ?? decodeURIComponent(url.hostname.replace(/^\[|\]$/g, ""));
    const port = Number(given.get("port") ?? (url.port || "5432"));
    const user = given.get("user") ?? decodeURIComponent(url.username);
    const database = decodeURIComponent(url.pathname.slice(1)) || user;
    const sslMode = readSslMode(given.get("sslmode"), host);
    if (host === "" || user === "" || database.includes("/") || !sslMode) return undefined;
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return undefined;
    return {
      /** A name, an IP address, or the folder of a Unix socket. */
      host,
      port,
      /** Both as people write them. */
      place: host.startsWith("/") ? host : `${host.includes(":") ? `[${host}]` : host}:${port}`,
      database,
      user,
      /** Empty: none. */
      password: decodeURIComponent(url.password),
      sslMode,
      /** A file with certificates of authorities in PEM. Null: those of Node.js. */
      rootCertificateFile: given.get("sslrootcert"),
    } as const;
  } catch {
    // A % that encodes nothing.
    return undefined;
  }
}

function readSslMode(given: string | null, host: string): SslMode | undefined {
  if (given === null) return isHere(host) ? "disable" : "verify-full";
  return sslModes.find((each) => each === given);
}

function isHere(host: string): boolean {
  if (host.startsWith("/") || host === "localhost") return true;
  return isIP(host) !== 0 && ipaddr.process(host).range() === "loopback";
}
