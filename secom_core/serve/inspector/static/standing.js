// What holds now: pins, statements that apply to every question, and what was replaced, with dates.

import { encoded } from "./addresses.js";
import { empty } from "./announce.js";
import { el } from "./elements.js";
import { day, moment } from "./phrases.js";
import { get } from "./server.js";
import { actions, excerpts, messages, turnHead, wholeTurn } from "./turns.js";

const KINDS = { instruction: "Instructions for later answers", preference: "Likes and dislikes", fact: "Who the user is" };
const HOW = { hand: "by hand", rules: "found by rules", model: "found by the language model" };
const DONE = { corrected: "corrected", retracted: "retracted", changed: "changed", ended: "ended" };

export async function standingView(context) {
  const found = await get("inspect/standing");
  return [
    el("h2", { "data-focus": true, tabindex: "-1" }, "What holds now"),
    section("Pinned", found.pinned.length, found.pinned.length ? list(found.pinned.map((turn) => whole(turn, context))) : empty("Nothing is pinned. If you pin a turn, every recall shows it. The button is at each turn, in a session or a hit.")),
    section("Applies to every question", found.statements.length, statements(found.statements, context)),
    section("Replaced", found.replaced.length, replaced(found, context)),
  ];
}

const section = (says, count, ...children) => el("section", {}, el("h3", {}, says, el("small", {}, ` ${count}`)), ...children);

const list = (items) => el("ul", { class: "plain" }, items);

const session = (turn) => el("a", { href: `#sessions/${encoded(turn.session)}` }, el("bdi", {}, turn.session));

const head = (turn, context) => turnHead(turn, context, session(turn), " · ");

const origin = (turn) => el("p", { class: "soft" }, session(turn), ` · ${moment(turn.at)}`);

const whole = (turn, context) => el("li", { class: "card" }, head(turn, context), messages(turn));

function statements(found, context) {
  if (!found.length)
    return empty("No statement that applies to every question was found, such as “always answer in metres” or “I am allergic to nuts”. Rules look for such statements in English, German, Chinese, Spanish, French, Italian, Portuguese, Japanese and Korean.");
  return Object.entries(KINDS).map(([kind, says]) => {
    const own = found.filter((each) => each.kind === kind);
    return own.length > 0 && [el("h4", {}, says), list(own.map((each) => statement(each, context)))];
  });
}

function statement({ turn, span }, context) {
  const text = Array.from(turn.messages[span.message].text);
  const isPart = span.start > 0 || span.stop < text.length || turn.messages.length > 1;
  return el("li", { class: "card" }, head(turn, context), excerpts(turn, [span], []), isPart && wholeTurn(turn, [span], [], "these words"));
}

function replaced(found, context) {
  const off = !found.finds_changes && el("p", { class: "soft" }, "This server does not look for statements that change an earlier one. To switch this on, add changes to the layers in secom.toml. Corrections by hand are always listed here.");
  if (!found.replaced.length) return [empty("Nothing was corrected, retracted or changed."), off];
  return [list(found.replaced.map((each) => replacement(each, context))), off];
}

const part = (turn, span) => (span ? excerpts(turn, [span], []) : messages(turn));

const replacement = (each, context) =>
  el(
    "li",
    { class: "card" },
    el("p", {}, el("span", { class: `tag ${each.kind}` }, `${DONE[each.kind]} on ${day(each.at)}`), ` ${HOW[each.by] || each.by}`),
    el("div", { class: "older" }, el("h4", {}, "Old text"), origin(each.older), part(each.older, each.older_span)),
    each.newer ? el("div", { class: "newer" }, el("h4", {}, each.kind === "ended" ? "It ended" : "New text"), origin(each.newer), part(each.newer, each.newer_span)) : el("p", {}, "No other statement replaces it."),
    each.by === "hand" && actions(each.older, context),
  );
