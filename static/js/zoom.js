// Images of texts, enlarged in a dialog: by a click or Enter on the image; then keys, buttons, wheel or two fingers.
//   <a class="image-link" href="/images/…/"><img alt="…"></a>   Without a script, the link opens the image.
"use strict";
(() => {
  const STEP = 1.5;
  const MOST = 12;
  let dialog, picture, stage;
  let scale = 1;
  let fitted = 0; // the width that it has where it fits: a small or tall image doesn't leap to that of the window

  const button = (words, key, act) => {
    const made = document.createElement("button");
    made.type = "button";
    made.className = "btn";
    made.textContent = words;
    made.dataset.key = key;
    made.dataset.keyLabel = words;
    made.addEventListener("click", act);
    return made;
  };

  // What is in the middle stays there.
  const zoom = (next) => {
    const before = scale;
    if (before === 1) fitted = picture.getBoundingClientRect().width;
    scale = Math.min(Math.max(next, 1), MOST);
    const x = stage.scrollLeft + stage.clientWidth / 2;
    const y = stage.scrollTop + stage.clientHeight / 2;
    stage.classList.toggle("is-enlarged", scale > 1);
    picture.style.inlineSize = scale > 1 ? `${fitted * scale}px` : "";
    stage.scrollTo((x * scale) / before - stage.clientWidth / 2, (y * scale) / before - stage.clientHeight / 2);
  };

  const make = () => {
    dialog = document.createElement("dialog");
    dialog.className = "dialog image-dialog";
    dialog.setAttribute("aria-label", gettext("Image"));
    stage = document.createElement("div");
    stage.className = "image-stage";
    stage.tabIndex = 0;
    picture = document.createElement("img");
    stage.append(picture);
    const foot = document.createElement("div");
    foot.className = "dialog-foot";
    const close = button(gettext("Close"), "escape", () => dialog.close());
    foot.append(
      button(gettext("Zoom in"), "+ =", () => zoom(scale * STEP)),
      button(gettext("Zoom out"), "-", () => zoom(scale / STEP)),
      button(gettext("Fit"), "0", () => zoom(1)),
      close,
    );
    dialog.append(stage, foot);
    document.body.append(dialog);
    stage.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey) return; // two fingers on a touchpad come as this, too
        event.preventDefault();
        zoom(scale * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
      },
      { passive: false },
    );
    pinch();
  };

  const pinch = () => {
    const fingers = new Map();
    let apart = 0;
    const distance = () => {
      const [first, second] = [...fingers.values()];
      return Math.hypot(first.x - second.x, first.y - second.y);
    };
    stage.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch") return;
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (fingers.size === 2) apart = distance();
    });
    stage.addEventListener("pointermove", (event) => {
      if (!fingers.has(event.pointerId)) return;
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (fingers.size !== 2 || !apart) return;
      const now = distance();
      zoom(scale * (now / apart));
      apart = now;
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"])
      stage.addEventListener(end, (event) => {
        fingers.delete(event.pointerId);
        apart = 0;
      });
  };

  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button || !(event.target instanceof Element)) return;
    const link = event.target.closest("a.image-link");
    const shown = link?.querySelector("img");
    if (!shown) return;
    event.preventDefault();
    if (!dialog) make();
    scale = 1;
    picture.src = shown.src;
    picture.alt = shown.alt;
    picture.style.inlineSize = "";
    stage.classList.remove("is-enlarged");
    dialog.showModal();
    stage.focus();
    stage.scrollTo(0, 0);
  });
})();
