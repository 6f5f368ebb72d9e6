import { expect, it } from "vitest";
import { asStoreError } from "../../src/store/store-error.ts";

it("a disk that is full is said, and what to do", () => {
  const error = Object.assign(new Error("database or disk is full"), {
    errcode: 13,
    errstr: "database or disk is full",
  });
  expect(String(asStoreError(error, "/data/s.db"))).toBe(
    "StoreError: The store /data/s.db cannot be opened: its disk is full. Make room and start again.",
  );
});
