// Keys that scroll (arrows, Space, Page Up and Down, Home, End) scroll, and never change an answer. Browsers let arrows
// choose in a group of radios and in a closed list; whoever answers by A and reads on with the arrow down would submit a tie.
//   - On a radio or a closed list of a form[data-annotate] these keys scroll the page. A list opens with Space or
//     Alt+arrow, and digits choose in it.
//   - In a group of radios that Tab has reached, arrows move the focus and choose nothing, as in a toolbar (ARIA practices,
//     "Radio Group"): without that the other options would be out of reach of a keyboard. It ends with the choice, and
//     focus that a click, a key of its own or a script has set never begins it.
//   - Where each answer scrolls by itself, these keys scroll the answer that is read (panes.js).
//   - Space chooses an option that has the focus and is not chosen: that is pressing what one went to by Tab and arrows,
//     with a ring around it, and the only way for those who have switched single keys off. On a chosen one it scrolls.
"use strict";
(() => {
  const LINE = 40;
  const PAGE = 0.875; // as browsers do
  const ARROWS = { ArrowUp: -1, ArrowLeft: -1, ArrowDown: 1, ArrowRight: 1 };
  const IN_A_LIST = new Set([...Object.keys(ARROWS), "PageUp", "PageDown", "Home", "End"]);
  const IN_A_PANE = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " "]);
  const RADIO = "form[data-annotate] input[type=radio]";
  const LIST = "form[data-annotate] select";

  const group = (radio) =>
    [...radio.form.elements].filter((other) => other.type === "radio" && other.name === radio.name && !other.disabled);
  const isOpen = (list) => CSS.supports("selector(:open)") && list.matches(":open");

  // Where answers scroll by themselves, the page doesn't: these keys are for the answer that is read, unless what has the
  // focus scrolls, or takes the key itself.
  const isIdle = (target, key) =>
    !document.querySelector("dialog[open]") &&
    !target.closest("[data-pane], [data-tab], .instruction-body, [popover], textarea, select, [tabindex='0']") &&
    !(target.matches("input") && window.touchstoneKeys.typing(target)) &&
    !(key === " " && target.matches("button, summary, input"));

  let tabbing = false;
  let entered = ""; // the name of the group that Tab has reached

  /** What the key would do if nothing had the focus. */
  const scroll = ({ key, shiftKey }) => {
    const pane = window.touchstonePanes?.scroller();
    const edge = (selector, side, otherwise) => document.querySelector(selector)?.getBoundingClientRect()[side] ?? otherwise;
    const seen = pane?.clientHeight ?? edge(".answer-bar", "top", innerHeight) - Math.max(0, edge(".topbar", "bottom", 0));
    const page = PAGE * Math.max(seen, LINE);
    const top = { ArrowUp: -LINE, ArrowDown: LINE, PageUp: -page, PageDown: page, " ": shiftKey ? -page : page }[key] ?? 0;
    const left = { ArrowLeft: -LINE, ArrowRight: LINE }[key] ?? 0;
    const box = pane ?? document.documentElement;
    if (key === "Home" || key === "End") box.scrollTo({ top: key === "Home" ? 0 : box.scrollHeight });
    else box.scrollBy({ top, left: pane ? 0 : left });
  };
  const walk = (radio, step) => {
    const all = group(radio);
    all.at((all.indexOf(radio) + step) % all.length).focus({ focusVisible: true });
  };

  // In the capture phase: nobody else takes these keys for theirs.
  document.addEventListener(
    "keydown",
    (event) => {
      const { key, target } = event;
      tabbing = key === "Tab";
      if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || !(target instanceof Element)) return;
      const step = ARROWS[key];
      if (target.matches(RADIO)) {
        const isForPane = key !== " " && IN_A_PANE.has(key) && window.touchstonePanes?.scroller();
        if (!step && !isForPane && !(key === " " && target.checked)) return;
        event.preventDefault();
        if (step && entered === target.name) walk(target, step);
        else scroll(event);
      } else if (target.matches(LIST) && IN_A_LIST.has(key) && !isOpen(target)) {
        event.preventDefault();
        scroll(event);
      } else if (IN_A_PANE.has(key) && window.touchstonePanes?.scroller() && isIdle(target, key)) {
        event.preventDefault();
        scroll(event);
      }
    },
    { capture: true },
  );
  document.addEventListener("keyup", () => (tabbing = false), { capture: true });
  document.addEventListener("focusin", (event) => {
    const name = event.target.matches(RADIO) ? event.target.name : "";
    if (tabbing) entered = name;
    else if (name !== entered) entered = "";
  });
  document.addEventListener("click", (event) => {
    if (event.target.matches?.(RADIO)) entered = "";
  });
})();
