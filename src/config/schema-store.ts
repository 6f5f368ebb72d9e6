import { certificates } from "./schema-outbound.ts";
import { parsePostgresUrl } from "../lib/postgres-url.ts";
import { Secret } from "../lib/secret.ts";
import { matching, optional, settings, text, textOf } from "./fields.ts";

const postgresSchema = settings({
  url: textOf(
    "postgresql://USER:PASSWORD@HOST:PORT/DATABASE with no other parameters than sslmode (disable, require, verify-ca or verify-full), sslrootcert, host, port and user, or url_file instead",
    /^postgres(?:ql)?:\/\//,
    (value) => (parsePostgresUrl(value) ? new Secret(value) : undefined),
  ).describe(
    "The address of the database. It is treated as a secret. Without `sslmode`, a server on another machine must have a certificate for its name (`verify-full`), and one on this machine is called without encryption.",
  ),
  schema: matching(
    "a name of at most 63 lower-case letters, digits and _, not beginning with a digit or pg_",
    /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/,
  )
    .prefault("sandwatch")
    .describe(
      "The schema that has the tables. It is created if there is none. All processes of one sandwatch share it; each other sandwatch needs its own.",
    ),
  ca: optional(
    certificates(),
    "`sslrootcert` of the address, or the authorities that Node.js trusts",
    "Certificates of the authorities, in PEM, that the certificate of the server must be from.",
  ),
});

export const storeSchema = settings({
  path: text("the path of a file")
    .prefault("data/sandwatch.db")
    .describe(
      "The path of the SQLite database. Each sandwatch needs its own. A relative path is resolved against the working directory. It is not used with `postgres`.",
    ),
  postgres: optional(
    postgresSchema,
    "none: the store is an SQLite database",
    "A PostgreSQL of version 15 or later instead of the file. One process at a time is active on it; others stand by.",
  ),
});
