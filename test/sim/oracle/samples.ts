/** One sample of the text format of metrics. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Reads the Prometheus text format; label values here hold no escapes. */
export function readSamples(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line): readonly Sample[] => {
    const match = /^([a-z_:][\w:]*)(?:\{(.*)\})? (\S+)$/i.exec(line);
    if (!match) return [];
    const [, name = "", labels = "", value] = match;
    const pairs = Array.from(
      labels.matchAll(/(\w+)="([^"]*)"/g),
      ([, label = "", labelValue = ""]) => [label, labelValue],
    );
    return [{ name, labels: Object.fromEntries(pairs), value: Number(value) }];
  });
}
