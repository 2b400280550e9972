// window.touchstoneSay(element, words): other words for an element that has nothing but text.
//
// A text node that changes leaves the styles alone. One that is put in its place, as by `textContent`, is a change of the tree:
// where rules ask what an element has in it (:has()), the styles of most of the page are computed again.
"use strict";
window.touchstoneSay = (element, words) => {
  const text = element.firstChild;
  const isOther = element.textContent !== words;
  if (isOther && text instanceof Text && text === element.lastChild) text.data = words;
  // The same words in a region that is read aloud are said anew: that takes another node.
  else if (isOther || element.matches("[aria-live], [role=status]")) element.textContent = words;
};
