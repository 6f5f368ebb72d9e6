import { Buffer } from "node:buffer";

/** As much of it as is used: Node.js has it, its types do not. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: never };
};

/** In bytes: a memory grows by whole ones. */
export const pageBytes = 64 * 1_024;

/** A number that a program exports: `value` is what it is now. */
export interface Exported {
  readonly value: number;
}

export interface Memory {
  readonly buffer: ArrayBuffer;
  /** Its bytes are in another buffer from then on. */
  grow(pages: number): void;
}

/**
 * Compiles a WebAssembly program.
 *
 * @param program as base64
 * @returns begins it with memory of its own, and gives what it exports: of the type that the caller says it
 *   has, as nothing else knows
 */
export function compileAssembly(program: string): () => never {
  const compiled = new WebAssembly.Module(Buffer.from(program, "base64"));
  return () => new WebAssembly.Instance(compiled).exports;
}
