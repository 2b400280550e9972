// Native dialogs opened from markup. Without a script, `data-open-dialog` sits on a link that leads to the page.
//   <a href="/guidelines" data-open-dialog="guidelines">…</a>   <button data-close-dialog>
"use strict";
(() => {
  document.addEventListener("click", (event) => {
    const target = event.target;
    if (!(target instanceof Element)) return;
    const opener = target.closest("[data-open-dialog]");
    if (opener) {
      const dialog = document.getElementById(opener.dataset.openDialog);
      if (!(dialog instanceof HTMLDialogElement)) return;
      event.preventDefault();
      // A menu closes first, so that the focus comes back to its button and not to what is hidden.
      const menu = opener.closest("[popover]");
      if (menu?.matches(":popover-open")) menu.hidePopover();
      if (!dialog.open) dialog.showModal();
      dialog.dispatchEvent(new Event("touchstone:open")); // for what it asks the server for
      return;
    }
    if (target.closest("[data-close-dialog]")) target.closest("dialog")?.close();
    // A click on the dialog element itself, outside its content, is a click on the backdrop.
    else if (target instanceof HTMLDialogElement && target.open && outside(target, event)) target.close();
  });
  const outside = (dialog, event) => {
    const box = dialog.getBoundingClientRect();
    return event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom;
  };
})();
