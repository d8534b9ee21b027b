// What stands: pins, what the user said that holds whatever is asked, and what was replaced, with dates.

import { empty } from "./announce.js";
import { el } from "./elements.js";
import { day, moment } from "./phrases.js";
import { get } from "./server.js";
import { actions, excerpts, messages, turnHead, wholeTurn } from "./turns.js";

const KINDS = { instruction: "Instructions for later", preference: "Likes and dislikes", fact: "Who the user is" };
const HOW = { hand: "by hand", rules: "found by rules", model: "found by the language model" };
const DONE = { corrected: "corrected", retracted: "taken back", changed: "changed", ended: "ended" };

export async function standingView(context) {
  const found = await get("inspect/standing");
  return [
    el("h2", { "data-focus": true, tabindex: "-1" }, "What stands"),
    section("Pinned", found.pinned.length, found.pinned.length ? list(found.pinned.map((turn) => whole(turn, context))) : empty("Nothing is pinned. Pin a turn, and every recall shows it: the button is below each turn, in a session or a hit.")),
    section("Holds whatever is asked", found.statements.length, statements(found.statements, context)),
    section("Replaced", found.replaced.length, replaced(found, context)),
  ];
}

const section = (says, count, ...children) => el("section", {}, el("h3", {}, says, el("small", {}, ` ${count}`)), ...children);

const list = (items) => el("ul", { class: "plain" }, items);

const session = (turn) => el("a", { href: `#sessions/${encodeURIComponent(turn.session)}` }, el("bdi", {}, turn.session));

const head = (turn, context) => turnHead(turn, context, session(turn), " · ");

const origin = (turn) => el("p", { class: "soft" }, session(turn), ` · ${moment(turn.at)}`);

const whole = (turn, context) => el("li", { class: "card" }, head(turn, context), messages(turn));

function statements(found, context) {
  if (!found.length)
    return empty("Nothing was heard that holds whatever is asked, such as “always answer in metres” or “I am allergic to nuts”. It is read by rules, in English, German and Chinese.");
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
  const off = !found.finds_changes && el("p", { class: "soft" }, "This server does not look for what users say to have changed; name changes among the layers of secom.toml, and it does. What is corrected by hand stands here in any case.");
  if (!found.replaced.length) return [empty("Nothing was corrected, taken back or said to have changed."), off];
  return [list(found.replaced.map((each) => replacement(each, context))), off];
}

const part = (turn, span) => (span ? excerpts(turn, [span], []) : messages(turn));

const replacement = (each, context) =>
  el(
    "li",
    { class: "card" },
    el("p", {}, el("span", { class: `tag ${each.kind}` }, `${DONE[each.kind]} on ${day(each.at)}`), ` ${HOW[each.by] || each.by}`),
    el("div", { class: "older" }, el("h4", {}, "It was so"), origin(each.older), part(each.older, each.older_span)),
    each.newer ? el("div", { class: "newer" }, el("h4", {}, each.kind === "ended" ? "It ended" : "It is so now"), origin(each.newer), part(each.newer, each.newer_span)) : el("p", {}, "Nothing holds in its place."),
    each.by === "hand" && actions(each.older, context),
  );
