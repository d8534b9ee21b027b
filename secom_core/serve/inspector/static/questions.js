// Questions before something is changed, and what was done after.

import { announce, failed, notice } from "./announce.js";
import { button, el, fill, labelled, newId } from "./elements.js";
import { counted, opening, span } from "./phrases.js";
import { post } from "./server.js";

/** A dialog with a heading; Escape closes it, and the focus goes back to where it was. */
function opened(says) {
  const id = newId("heading");
  const body = el("div");
  const before = document.activeElement;
  const dialog = el("dialog", { "aria-labelledby": id }, el("h2", { id }, says), body);
  dialog.addEventListener("close", () => {
    dialog.remove();
    if (before?.isConnected) before.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, body };
}

async function does(dialog, trouble, work, again) {
  const buttons = [...dialog.querySelectorAll("button")];
  for (const each of buttons) each.disabled = true;
  try {
    const told = await work();
    dialog.close();
    await again();
    notice(told);
  } catch (error) {
    fill(trouble, failed(error));
    for (const each of buttons) each.disabled = false;
  }
}

// -- correct -----------------------------------------------------------------------------------------------------------

export function askToCorrect(turn, again) {
  const { dialog, body } = opened("Correct this turn");
  const field = el("textarea", { rows: 4, dir: "auto" });
  const trouble = el("div");
  const first = turn.messages[0];
  const send = (text, told) =>
    does(dialog, trouble, async () => {
      await post("correct", { turn_id: turn.id, text });
      return told;
    }, again);
  const correct = () => {
    if (field.value.trim()) return send(field.value.trim(), "Corrected. Your text holds from now on; the old text stays, marked as corrected.");
    fill(trouble, el("p", { class: "failure", role: "alert" }, "Write the correct text; or retract the old text, if nothing replaces it."));
    field.focus();
  };
  fill(
    body,
    el("blockquote", { dir: "auto" }, opening(first.text, 280)),
    el("p", {}, "The old text is not deleted: it stays, marked, and a recall shows your text before it. If it is wrong and nothing replaces it, retract it. To delete it, choose Forget."),
    labelled("The correct text", field),
    trouble,
    el(
      "p",
      { class: "actions" },
      button("Correct", correct, { class: "main" }),
      button("Retract it", () => send(null, "Retracted: it is no longer shown as true.")),
      button("Cancel", () => dialog.close()),
    ),
  );
  field.focus();
}

// -- forget ------------------------------------------------------------------------------------------------------------

const MADE = { segments: "segment", events: "event of the timelines", topics: "topic" };

function rests(made) {
  const parts = Object.entries(made).filter(([, number]) => number).map(([name, number]) => name === "events" ? `${number} ${number === 1 ? "event" : "events"} of the timelines` : counted(number, MADE[name] || name));
  return parts.length ? `What was derived from them is deleted too: ${parts.join(", ")}, with their search keys.` : "";
}

function told(doomed) {
  const sessions = doomed.sessions.length === 1 ? ["of the session ", el("bdi", {}, doomed.sessions[0])] : [`of ${counted(doomed.sessions.length, "session")}`];
  return [
    el("p", {}, el("strong", {}, `${counted(doomed.turns, "turn")} will be gone for good`), ` (${counted(doomed.messages, "message")}, ${counted(doomed.characters, "character")}) `, sessions, `, said ${span(doomed.begin, doomed.end)}.`),
    el("ul", {}, doomed.openings.map((each) => el("li", { dir: "auto" }, opening(each, 120))), doomed.turns > doomed.openings.length && el("li", {}, `and ${counted(doomed.turns - doomed.openings.length, "more turn")}`)),
    rests(doomed.made) && el("p", {}, rests(doomed.made)),
    el("p", {}, "This cannot be undone. Earlier backups and exports still contain the text."),
  ];
}

/** Ask, with what would be gone, and forget it.
 *
 * `what` says which turns, as the API takes it: `session`, `turn_ids`, `before`, or `all`.
 */
export async function askToForget(what, says, again) {
  const { dialog, body } = opened(`Forget ${says}?`);
  fill(body, el("p", { class: "soft" }, "Looking up what would be deleted…"), button("Cancel", () => dialog.close()));
  let doomed;
  try {
    doomed = await post("inspect/forget", what);
  } catch (error) {
    fill(body, failed(error), el("p", { class: "actions" }, button("Cancel", () => dialog.close())));
    return;
  }
  if (!dialog.open) return;
  if (!doomed.turns) {
    fill(body, el("p", {}, "No turn matches: nothing would be deleted."), button("Close", () => dialog.close()));
    return;
  }
  const trouble = el("div");
  const typed = el("input", { type: "text", autocomplete: "off" });
  const keep = button(doomed.turns === 1 ? "Keep it" : "Keep them", () => dialog.close());
  const forget = button(`Forget ${counted(doomed.turns, "turn")}`, () => {
    if (what.all && typed.value.trim().toLowerCase() !== "forget") {
      fill(trouble, el("p", { class: "failure", role: "alert" }, "Write the word forget into the field, to be sure."));
      typed.focus();
      return;
    }
    does(dialog, trouble, async () => {
      const gone = await post("forget", what);
      return `${counted(gone.forgotten, "turn")} ${gone.forgotten === 1 ? "is" : "are"} gone, with all that was made of ${gone.forgotten === 1 ? "it" : "them"}.`;
    }, again);
  }, { class: "danger" });
  fill(body, told(doomed), what.all && labelled("To be sure, write the word forget", typed), trouble, el("p", { class: "actions" }, forget, keep));
  keep.focus();
  announce(`${counted(doomed.turns, "turn")} would be gone.`);
}

// -- pin and undo ------------------------------------------------------------------------------------------------------

async function marked(work, says, again) {
  try {
    await work();
    await again();
    notice(says);
  } catch (error) {
    notice(`${error.message} ${error.next || ""}`);
  }
}

export const pinned = (turn, isPinned, again) =>
  marked(
    () => post("inspect/pin", { turn_id: turn.id, pinned: isPinned }),
    isPinned ? "Pinned: every recall shows this turn, in a small part of its budget." : "Unpinned: a recall shows it only if it answers.",
    again,
  );

export const undone = (turn, again) =>
  marked(() => post("inspect/undo", { turn_id: turn.id }), "The turn holds again; its correction is undone.", again);
