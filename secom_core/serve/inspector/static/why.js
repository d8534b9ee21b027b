// Why a hit was found, in plain words and numbers.

import { details, el } from "./elements.js";
import { percent, signed } from "./phrases.js";

const TOLD = 3;

const value = (reason) => {
  if (reason.yes_or_no) return reason.value > 0 ? "yes" : "no";
  return `${Math.abs(reason.value).toFixed(1)} σ ${reason.value < 0 ? "below" : "above"} average`;
};

const row = (reason) =>
  el("tr", {}, el("th", { scope: "row" }, reason.says), el("td", {}, value(reason)), el("td", { class: "number" }, `× ${reason.weight}`), el("td", { class: "number" }, signed(reason.adds)));

function table(hit, reasons) {
  const sum = reasons.reduce((total, reason) => total + reason.adds, 0);
  const lowered = hit.score < sum - 0.01;
  return [
    el(
      "div",
      { class: "wide", tabindex: "0", role: "region", "aria-label": "What its score is made of" },
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ["Signal", "Compared with all candidates", "Weight", "Adds"].map((says, place) => el("th", { scope: "col", class: place > 1 && "number" }, says)))),
        el("tbody", {}, reasons.map(row)),
        el("tfoot", {}, el("tr", {}, el("th", { scope: "row", colspan: "3" }, "Score, which orders the hits of this search"), el("td", { class: "number" }, hit.score.toFixed(2)))),
      ),
    ),
    lowered && el("p", { class: "soft" }, "The score is lower than the sum, because turns that apply to every question, or that only ask, are placed after turns that answer."),
    el("p", { class: "soft" }, "σ is one standard deviation over all candidates of this search. A hit can consist of several passages; the numbers are those of its best passage."),
  ];
}

/** Which words of the query it has. */
function words(why) {
  const found = why.matches.some((each) => each.spans.length);
  return el("p", {}, found ? "Words of your query are underlined in it." : "It shares no word with your query. It was found by its neighbours, by meaning, or by a rule.");
}

const joined = (reasons) => reasons.map((reason) => `${reason.says}: ${value(reason)} (${signed(reason.adds)})`).join("; ");

export function whyOf(hit, why) {
  const speak = why.reasons.filter((reason) => reason.adds > 0).slice(0, TOLD);
  const against = why.reasons.filter((reason) => reason.adds < -0.1).slice(0, TOLD - 1);
  return details(
    "Why it is shown",
    { class: "why" },
    el("p", {}, why.says),
    words(why),
    speak.length > 0 && el("p", {}, el("strong", {}, "Strongest reasons for it: "), `${joined(speak)}.`),
    against.length > 0 && el("p", {}, el("strong", {}, "Strongest reasons against it: "), `${joined(against)}.`),
    why.reasons.length > 0 && table(hit, why.reasons),
  );
}

/** How likely it is that a hit helps to answer; of the others, why they are there. */
export function chance(hit) {
  if (hit.kind !== "relevant") return el("p", { class: "chance" }, el("span", { class: "tag" }, { surrounding: "next to a hit", standing: "applies to every question", recent: "one of the latest" }[hit.kind]));
  return el(
    "p",
    { class: "chance" },
    el("meter", { min: 0, max: 1, value: hit.relevance, "aria-label": "Chance that it helps to answer" }),
    ` ${percent(hit.relevance)} chance that it helps to answer`,
  );
}
