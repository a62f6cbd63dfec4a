import { inspect } from 'node:util';

const shown = '[secret]';

/**
 * The value of a secret. It shows itself only to `reveal()`: printed, logged, serialised or joined
 * into a text it is `[secret]`.
 */
export class SecretText {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return shown;
  }

  toJSON(): string {
    return shown;
  }

  [inspect.custom](): string {
    return shown;
  }
}
