import { expect, it } from "vitest";
import { asStoreError } from "../../src/store/store-error.ts";

it("a disk that is full is said, and what to do", () => {
  const error = Object.assign(new Error("database or disk is full"), {
    errcode: 13,
    errstr: "database or disk is full",
  });
  expect(String(asStoreError(error, "/data/s.db"))).toBe(
    "StoreError: The store /data/s.db cannot be opened: its disk is full. Free space and start again.",
  );
});

it.each(["EACCES", "EROFS"])(
  "a file that may not be written is said (%s), and what to do",
  (code) => {
    const error = Object.assign(new Error(`${code}: not permitted, access '/data/s.db'`), { code });
    expect(String(asStoreError(error, "/data/s.db"))).toBe(
      `StoreError: The store /data/s.db cannot be opened: this user may not read and write it (${code}). Grant access to this user, or set another store.path.`,
    );
  },
);
