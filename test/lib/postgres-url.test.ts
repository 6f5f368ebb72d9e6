import { expect, it } from "vitest";
import { parsePostgresUrl } from "../../src/lib/postgres-url.ts";

it.each([
  ["postgresql://u:p%40%2F@db.example.com/d", "db.example.com:5432 d u p@/ verify-full"],
  ["postgres://u@db.example.com:6432/d?sslmode=require", "db.example.com:6432 d u  require"],
  ["postgresql://u@127.0.0.1/d", "127.0.0.1:5432 d u  disable"],
  ["postgresql://u@[::1]:1/", "[::1]:1 u u  disable"],
  ["postgresql://u@localhost/d?sslmode=verify-ca", "localhost:5432 d u  verify-ca"],
  ["postgresql:///d?host=/run/postgresql&user=u&port=5433", "/run/postgresql d u  disable"],
])("the address %s is read as libpq reads it", (text, expected) => {
  const { place, database, user, password, sslMode } = parsePostgresUrl(text) ?? {};
  expect([place, database, user, password, sslMode].join(" ")).toBe(expected);
});

it.each([
  "db.example.com",
  "mysql://u@h/d",
  "postgresql://h/d",
  "postgresql:///d",
  "postgresql://u@h/d?sslmode=prefer",
  "postgresql://u@h/d?options=-c%20x",
  "postgresql://u@h/d/e",
  "postgresql://u@h:0/d",
  "postgresql://u:%zz@h/d",
  "postgresql://u@h/d#f",
])("%s is no address of a database", (text) => {
  expect(parsePostgresUrl(text)).toBeUndefined();
});
