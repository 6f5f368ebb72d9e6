/** Markup that may be sent as it is. */
export interface Html {
  readonly text: string;
}

/** Markup with values in it: a text is escaped, markup stays markup. */
export function html(parts: TemplateStringsArray, ...values: readonly (string | Html)[]): Html {
  const texts = values.map((value) => (typeof value === "string" ? escapeHtml(value) : value.text));
  return { text: parts.map((part, index) => part + (texts[index] ?? "")).join("") };
}

export function joinHtml(pieces: readonly Html[]): Html {
  return { text: pieces.map(({ text }) => text).join("") };
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
