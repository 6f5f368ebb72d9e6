import { inspect } from "node:util";

const mask = "[secret]";

/**
 * A value that must not be seen: an API key, a webhook's address, a signing secret. Printed, logged
 * or serialised in any way it shows a mask; only `reveal` gives the value.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}
