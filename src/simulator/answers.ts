/** What is sent, before faults spoil it. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Iterable<string>;
}

export function textAnswer(
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, headers, body: [text] };
}

export function jsonAnswer(status: number, value: unknown): Answer {
  return textAnswer(status, JSON.stringify(value));
}

export function problem(
  status: number,
  detail: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return textAnswer(status, JSON.stringify({ detail }), headers);
}

/** What is answered where there is no operation. */
export const noSuchPath = problem(404, "Not found");
