// Numbers and times in words.

const numbers = new Intl.NumberFormat("en");
const days = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeZone: "UTC" });
const clocks = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" });

export const figure = (number) => numbers.format(number);

/** `1 turn`, `2 turns`. */
export const counted = (number, what) => `${figure(number)} ${number === 1 ? what : `${what}s`}`;

/** A time as the clocks show it that it is told by, as in the block: `clock` for the formats, which are of UTC. */
const told = (at) => {
  const [, clock, offset] = /^(.*?)([+-]\d\d:\d\d(?::\d\d)?)$/.exec(at);
  return { clock: new Date(`${clock}Z`), zone: offset === "+00:00" ? "UTC" : `UTC${offset}` };
};

export const day = (at) => (at ? days.format(told(at).clock) : "at an unknown time");

export const moment = (at) => (at ? `${clocks.format(told(at).clock)} ${told(at).zone}` : "at an unknown time");

/** From when to when, or the one day. */
export function span(begin, end) {
  if (!begin) return "at an unknown time";
  return day(begin) === day(end) ? `on ${day(begin)}` : `from ${day(begin)} to ${day(end)}`;
}

/** A chance as percent: never 0 or 100, as nothing is certain. */
export const percent = (chance) => `${Math.min(99, Math.max(1, Math.round(100 * chance)))} %`;

export const signed = (number) => `${number < 0 ? "−" : "+"}${Math.abs(number).toFixed(2)}`;

/** The first words of a text, on one line. */
export function opening(text, most = 60) {
  const line = Array.from(text.replace(/\s+/g, " ").trim());
  return line.length > most ? `${line.slice(0, most).join("")}…` : line.join("");
}

/** What a segment is called. */
export const named = (words, place) => (words && words.length ? words.join(", ") : `segment ${place + 1}`);
