import { createGunzip } from "node:zlib";
import { replaceMethod } from "./statement-hook.ts";

/** Decoders with bytes that have not come out; one that is destroyed calls nobody back. */
const underWay = new Set<Destroyable>();

interface Destroyable {
  readonly destroyed: boolean;
}

/** Whether bytes are being decoded: that happens on threads of its own, whatever time it is. */
export function isDecoding(): boolean {
  for (const decoder of underWay) if (decoder.destroyed) underWay.delete(decoder);
  return underWay.size > 0;
}

type Callback = (...results: readonly unknown[]) => void;
type Step = (this: Destroyable, ...parameters: readonly unknown[]) => unknown;

/** Has what is being decoded counted, until disposed of. */
export function watchDecoders(): Disposable {
  const undo = new DisposableStack();
  const base = prototypeWith(createGunzip(), "_transform");
  for (const name of ["_transform", "_flush"] as const) {
    replaceMethod(undo, base, name, (original: Step): Step => {
      return function (this: Destroyable, ...parameters: readonly unknown[]) {
        const done = parameters.at(-1);
        if (!isCallback(done)) throw new TypeError("a decoder that calls nobody back");
        underWay.add(this);
        const ended: Callback = (...results) => {
          underWay.delete(this);
          done(...results);
        };
        return Reflect.apply(original, this, [...parameters.slice(0, -1), ended]);
      };
    });
  }
  undo.defer(() => underWay.clear());
  return undo;
}

function isCallback(value: unknown): value is Callback {
  return typeof value === "function";
}

type Decoder = Record<"_transform" | "_flush", Step>;

function prototypeWith(value: object, name: string): Decoder {
  let found: unknown = value;
  while (typeof found === "object" && found !== null && !Object.hasOwn(found, name)) {
    found = Object.getPrototypeOf(found);
  }
  if (!isDecoder(found)) throw new TypeError("node:zlib has no such prototype");
  return found;
}

function isDecoder(value: unknown): value is Decoder {
  return typeof value === "object" && value !== null && "_transform" in value && "_flush" in value;
}
