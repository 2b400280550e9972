"""What axe-core finds on a page, wide and light, narrow and dark: nothing may break WCAG 2.2 AA or scroll sideways."""

from playwright.sync_api import Page

from tests.browser.conftest import AXE_ADDRESS, DESKTOP, PHONE, assert_no_sideways_scroll, settled

RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
    "preload": False,  # no rule of these reads style sheets or media
}
# What a width, a color scheme or a control that only one width has can change; the rest is the same document's.
SEEN = {
    **RULES,
    "runOnly": {
        "type": "rule",
        "values": [
            *("color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"),
            *("aria-hidden-focus", "button-name", "label", "link-name", "select-name"),
        ],
    },
}
VARIANTS = [(DESKTOP, "light", RULES), (PHONE, "dark", SEEN)]

# The contrast of a text follows from its color, size and weight and from what is behind it. Measuring it is more than
# half of axe's work, and most of what is on a page is on the one before as well: a text is measured where these are
# new, and always where it or something around it may lie over what isn't around it.
LOOKS = """() => {
  const known = new Map([[null, ""]]);
  const look = (one) => {
    if (known.has(one)) return known.get(one);
    const style = getComputedStyle(one), around = look(one.parentElement);
    const names = ["backgroundColor", "backgroundImage", "opacity", "filter", "mixBlendMode"];
    const drawn = names.map((name) => style[name]).join("|");
    const isPlain = drawn === "rgba(0, 0, 0, 0)|none|1|none|normal";
    const moves = ["absolute", "fixed", "sticky"].includes(style.position) || style.transform !== "none"
      || (style.position === "relative" && [style.top, style.left].some((inset) => !["auto", "0px"].includes(inset)));
    known.set(one, around === null || moves ? null : isPlain ? around : `${around}>${drawn}`);
    return known.get(one);
  };
  window.looks = new Map();
  for (const one of document.body.querySelectorAll("*")) {
    const isText = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim())
      || one.matches("input, select, textarea, button");
    if (!isText || !one.checkVisibility() || !one.getClientRects().length) continue;
    const style = getComputedStyle(one), around = look(one);
    const self = [style.color, style.fontSize, style.fontWeight, style.textShadow, one.disabled, one.ariaDisabled];
    const key = around === null ? `${looks.size} over something` : `${around}#${self.join("|")}`;
    if (!looks.has(key)) looks.set(key, []);
    looks.get(key).push(one);
  }
  return [...looks.keys()];
}"""
RUN = """async ([rules, looks]) => {
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-measured]" }] });
  for (const key of looks) {
    // Of many that look the same, the first, one in the middle and the last.
    const same = window.looks.get(key);
    for (const one of [same[0], same[same.length >> 1], same.at(-1)]) one.dataset.measured = "";
  }
  const { violations } = await axe.run(document, rules);
  for (const one of document.querySelectorAll("[data-measured]")) delete one.dataset.measured;
  return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 200)}`));
}"""
# What htmx loads is paler until it is there, and pages that follow something load all the time.
HOLD = """() => {
  window.hold = (event) => event.preventDefault();
  document.addEventListener("htmx:beforeRequest", window.hold);
  document.documentElement.style.clipPath = "polygon(0 0, 0 0, 0 0)";
}"""
RELEASE = """() => {
  document.removeEventListener("htmx:beforeRequest", window.hold);
  document.documentElement.style.removeProperty("clip-path");
}"""
# After the frame in which scripts hear of the new size: a resize is dispatched there, and what they change is laid out.
SETTLED = """async () => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  return [document.documentElement.scrollHeight, "axe" in window];
}"""
# A window so tall that no bar at the foot covers a part of the page: axe would measure what is left of a button. What
# is not in the window is not drawn, and to draw costs more than to lay out.
TALL = {DESKTOP["width"]: 1600, PHONE["width"]: 3000}
TALLEST = 6000
measured: dict[str, set[str]] = {"light": set(), "dark": set()}


def violations(page: Page) -> list[str]:
    """What axe finds on the page as it is, in each theme and width. The page's own CSP stays: the site serves axe."""
    found = []
    page.wait_for_load_state("load")
    page.evaluate(HOLD)
    settled(page)
    for size, scheme, rules in VARIANTS:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        tall = TALL[size["width"]]
        page.set_viewport_size({"width": size["width"], "height": tall})
        needed, has_axe = page.evaluate(SETTLED)
        if needed > tall < TALLEST:
            page.set_viewport_size({"width": size["width"], "height": min(needed, TALLEST)})
            page.evaluate(SETTLED)
        assert_no_sideways_scroll(page)
        if not has_axe:
            page.add_script_tag(url=AXE_ADDRESS)  # compiled once, where a text to evaluate is for every page
        looks = page.evaluate(LOOKS)
        told = page.evaluate(RUN, [rules, [look for look in looks if look not in measured[scheme]]])
        if not any(words.startswith("color-contrast") for words in told):
            measured[scheme].update(look for look in looks if not look.endswith("over something"))
        found += [f"{page.url} {size['width']} {scheme}: {words}" for words in told]
    page.set_viewport_size(DESKTOP)
    page.evaluate(RELEASE)
    return found
