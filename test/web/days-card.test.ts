import { describe, expect, it } from "vitest";
import { availabilityOf, daysCard } from "../../src/web/pages/days-card.ts";
import type { PlaceDays } from "../../src/web/pages/occupancy-data.ts";

describe("the days of a target", () => {
  const day = (date: number, seconds: { error?: number; unobserved?: number; all?: number }) => ({
    day: `2026-11-0${date}`,
    ...noFigures,
    server_seconds: seconds.all ?? 100,
    error_seconds: seconds.error ?? 0,
    error_share: (seconds.error ?? 0) / 100,
    unobserved_seconds: seconds.unobserved ?? 0,
    coverage: seconds.all === 0 ? null : 1 - (seconds.unobserved ?? 0) / 100,
  });
  const place = (key: string, days: PlaceDays["days"]): PlaceDays => ({ region: "us", key, days });

  it("are distinguished in words, and link to their day", () => {
    const days = [
      day(1, {}),
      day(2, { error: 5 }),
      day(3, { unobserved: 0.5 }),
      day(4, { unobserved: 40 }),
      day(5, { unobserved: 100 }),
      day(6, { all: 0 }),
    ];
    const { markup } = daysCard([place("ops", days)], { tz: "UTC", most: 5 });
    expect(Array.from(markup.matchAll(/<title>(.*?)<\/title/g), ([, text]) => text)).toEqual([
      "2026-11-01: fully observed, no error",
      "2026-11-02: some error (5.0% of observed time)",
      "2026-11-03: fully observed, no error",
      "2026-11-04: partly unobserved",
      "2026-11-05: nothing known",
      "2026-11-06: nothing known",
    ]);
    expect(markup).toContain(
      'href="occupancy?from=2026-11-01&amp;to=2026-11-02&amp;region=us&amp;key=ops&amp;tz=UTC"',
    );
  });

  it("are red for the share of the time in error, but at least a sixth", () => {
    const days = [day(1, { error: 0.1 }), day(2, { error: 50 }), day(3, { error: 100 })];
    const { markup } = daysCard([place("ops", days)], { tz: "UTC", most: 5 });
    const reds = markup.matchAll(/height="(\d+)" class="day error"/g);
    // The last is that of the key.
    expect(Array.from(reds, ([, height]) => Number(height))).toEqual([4, 12, 24, 4]);
  });

  it("give an availability of the observed time, which is 100 % only without any error", () => {
    expect(
      availabilityOf(place("a", [day(1, { error: 10, unobserved: 50 }), day(2, {})])),
    ).toBeCloseTo(1 - 10 / 150);
    expect(availabilityOf(place("a", [day(1, { unobserved: 100 })]))).toBeNull();
    const { markup } = daysCard([place("a", [day(1, { error: 0.000_01 })])], {
      tz: "UTC",
      most: 5,
    });
    expect(markup).toContain(">99.99%<");
  });

  it("say of how much time their availability is, if that is not all of the ninety days", () => {
    const shown = (days: PlaceDays["days"]) =>
      daysCard([place("a", days)], { tz: "UTC", most: 5 }).markup;
    const whole = (count: number, unobserved: number) =>
      Array.from({ length: count }, () => day(1, { unobserved }));
    // Twenty minutes of ninety days.
    const young = [...whole(89, 100), day(1, { error: 0.5, unobserved: 100 - 100 / 72 })];
    expect(shown(young)).toMatch(/percent">6\d\.\d\d% <small>of 20m observed</);
    expect(shown(whole(90, 50))).toContain("of 45d observed");
    expect(shown(whole(90, 0.5))).not.toContain("observed</small>");
  });

  it("are those of the least available targets, and the others are counted", () => {
    const places = [0, 3, 1, 2].map((error) => place(`key-${error}`, [day(1, { error })]));
    const { markup } = daysCard(places, { tz: "UTC", most: 2 });
    expect(markup.match(/us \/ key-\d(?=<)/g)).toEqual(["us / key-3", "us / key-2"]);
    expect(markup).toContain("and 2 more, which were more available");
  });
});

const noFigures = {
  occupied_share: null,
  idle_share: null,
  unknown_share: null,
  unobserved_share: null,
  occupied_seconds: 0,
  idle_seconds: 0,
  unknown_seconds: 0,
  occupied_average: null,
  occupied_peak: null,
  occupied_peak_exact: null,
  servers_average: null,
  servers_peak: null,
  headroom: null,
  stays: 0,
  stay_mean_seconds: null,
  stay_median_seconds: null,
  stay_median_least_seconds: null,
  stay_median_most_seconds: null,
  stay_p95_seconds: null,
  stay_p95_least_seconds: null,
  stay_p95_most_seconds: null,
  incidents: 0,
  recoveries: 0,
  recovery_mean_seconds: null,
  recovery_mean_least_seconds: null,
};
