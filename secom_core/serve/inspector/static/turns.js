// A turn: its messages word for word, what is shown of them and what the query has too, its marks, and what can be done.

import { button, details, el } from "./elements.js";
import { counted, day, figure, moment, opening } from "./phrases.js";
import { askToCorrect, askToForget, pinned, undone } from "./questions.js";

const LONG = 900;
const SHOWN = 600;

export const textOf = (turn) => turn.messages.map((message) => message.text).join("\n");

const speaker = (message) => message.speaker || message.role || "somebody";

/** A text as nodes, with the places of words of the query, and what reaches the prompt, marked.
 *
 * Places count characters as Python does, of which one may be two of JavaScript's.
 */
export function marked(characters, matches, shown = [], start = 0, stop = characters.length) {
  const edges = new Set([start, stop]);
  for (const [first, last] of [...matches, ...shown]) for (const edge of [first, last]) if (edge > start && edge < stop) edges.add(edge);
  const sorted = [...edges].sort((one, other) => one - other);
  const inside = (spans, place) => spans.some(([first, last]) => first <= place && place < last);
  return sorted.slice(0, -1).map((place, index) => {
    const text = characters.slice(place, sorted[index + 1]).join("");
    const word = inside(matches, place) ? el("b", { class: "match" }, text) : text;
    return inside(shown, place) ? el("mark", {}, word) : word;
  });
}

const spansOf = (spans, turn, place) =>
  spans.filter((each) => each.turn_id === turn.id && each.message === place).map((each) => [each.start, each.stop]);

const matchesOf = (matches, turn, place) =>
  matches.filter((each) => each.turn_id === turn.id && each.message === place).flatMap((each) => each.spans);

function said(message, ...children) {
  const kind = ["assistant", "tool"].includes(message.role) ? "said reply" : "said";
  return el("div", { class: kind }, el("span", { class: "speaker" }, el("bdi", {}, speaker(message))), el("span", { class: "words", dir: "auto" }, ...children));
}

/** All messages of a turn; a long one is cut until it is asked for. */
export function messages(turn, { matches = [], shown = [], all = false } = {}) {
  return turn.messages.map((message, place) => {
    const characters = Array.from(message.text);
    const hits = matchesOf(matches, turn, place);
    const spans = spansOf(shown, turn, place);
    if (all || characters.length <= LONG) return said(message, marked(characters, hits, spans));
    const more = button(`Show all ${figure(characters.length)} characters`, () => {
      rest.replaceWith(...marked(characters, hits, spans, SHOWN));
      more.remove();
    });
    const rest = el("span", {}, "… ");
    return said(message, marked(characters, hits, spans, 0, SHOWN), rest, more);
  });
}

/** What of a turn reaches the prompt: its excerpts, and `[…]` where words are left out. */
export function excerpts(turn, spans, matches) {
  return turn.messages.flatMap((message, place) => {
    const own = spansOf(spans, turn, place);
    if (!own.length) return [];
    const characters = Array.from(message.text);
    const hits = matchesOf(matches, turn, place);
    // A space stands before the sign only where the words before it end in none.
    const cut = (after) => el("span", { class: "cut" }, after && characters[after - 1].trim() ? " […]" : "[…]");
    const parts = own.flatMap(([start, stop], index) => {
      const before = index ? own[index - 1][1] : 0;
      return [...(start > before ? [cut(before), " "] : []), ...marked(characters, hits, [], start, stop)];
    });
    if (own.at(-1)[1] < characters.length) parts.push(cut(own.at(-1)[1]));
    return [said(message, parts)];
  });
}

const MARKS = { corrected: "corrected", retracted: "retracted", pinned: "pinned" };

/** What was done with a turn by hand. */
const markLine = (turn) =>
  [...new Map((turn.marks || []).map((mark) => [`${mark.span ? "partly " : ""}${MARKS[mark.kind]} on ${day(mark.at)}`, mark.kind]))].map(([says, kind]) => [" ", el("span", { class: `tag ${kind}` }, says)]);

/** What can be done with a turn; nothing where the token may only read. */
export function actions(turn, { stats, again }) {
  if (!stats.writes) return null;
  const name = opening(textOf(turn), 40);
  const marks = (turn.marks || []).filter((mark) => mark.kind !== "pinned");
  const holds = marks.every((mark) => mark.span);
  const isPinned = (turn.marks || []).length > marks.length;
  const label = (says) => ({ "aria-label": `${says}: ${name}` });
  return el(
    "div",
    { class: "actions" },
    holds && button("Correct…", () => askToCorrect(turn, again), label("Correct")),
    marks.length > 0 && button("Undo the correction", () => undone(turn, again), label("Undo the correction")),
    button(isPinned ? "Unpin" : "Pin", () => pinned(turn, !isPinned, again), label(isPinned ? "Unpin" : "Pin")),
    button("Forget…", () => askToForget({ turn_ids: [turn.id] }, "this turn", again), { ...label("Forget"), class: "danger" }),
  );
}

/** When a turn was said and what was done with it, beside what can be done with it. */
export const turnHead = (turn, context, ...origin) =>
  el("div", { class: "head" }, el("p", { class: "soft" }, origin, el("time", { datetime: turn.at }, moment(turn.at)), markLine(turn)), actions(turn, context));

/** A turn as it stands in a list. */
export function turnItem(turn, context, options = {}) {
  return el(
    "li",
    { class: "turn" },
    turnHead(turn, context),
    messages(turn, options),
  );
}

/** The whole turn, with a part of it marked. */
export const wholeTurn = (turn, spans, matches, part) =>
  details(
    `The whole turn, ${counted(Array.from(textOf(turn)).length, "character")}, with ${part} marked`,
    { class: "whole" },
    messages(turn, { matches, shown: spans, all: true }),
  );
