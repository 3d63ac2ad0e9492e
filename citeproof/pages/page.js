"use strict";
// The trace: unfolds the step that the address names, and marks the other steps of its node.
(() => {
  function reveal() {
    const target = document.getElementById(location.hash.slice(1));
    if (!target || !target.dataset.node) return;
    for (const row of document.querySelectorAll(".steps > li")) {
      const beside = row.parentElement === target.parentElement;
      row.classList.toggle("same", beside && row.dataset.node === target.dataset.node);
    }
    target.firstElementChild.open = true;
    for (let one = target; one; one = one.parentElement) {
      if (one.tagName === "DETAILS") one.open = true;
    }
    target.scrollIntoView();
    target.querySelector("summary").focus({ preventScroll: true });
  }

  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    // A link to the current address causes no hashchange. Any other link does, and revealing its
    // target here as well would unfold what the reader has folded in between.
    const link = event.target.closest(".graph a");
    if (link && link.getAttribute("href") === location.hash) setTimeout(reveal);
  });
  reveal();
})();
// Cards at claims and citations: on hover, on focus, and on tap. Their content is already in the
// page, as inert templates; without this script the citations are plain links.
(() => {
  const card = document.getElementById("card");
  let owner = null;
  let timer = 0;
  let touched = false;

  function place() {
    const gap = 8;
    // A claim may wrap; the box of its first line is where it begins.
    const box = owner.getClientRects()[0] || owner.getBoundingClientRect();
    const width = card.offsetWidth;
    const height = card.offsetHeight;
    const wide = document.documentElement.clientWidth;
    const middle = box.left + box.width / 2 - width / 2;
    const left = Math.max(0, Math.min(Math.max(12, middle), wide - width - 12));
    const whole = owner.getBoundingClientRect();
    const below = whole.bottom + gap;
    const fits = below + height <= window.innerHeight || whole.top - gap - height < 0;
    card.style.left = `${left + window.scrollX}px`;
    card.style.top = `${(fits ? below : whole.top - gap - height) + window.scrollY}px`;
  }

  function show(anchor) {
    clearTimeout(timer);
    if (owner === anchor) return;
    const content = document.getElementById(anchor.dataset.card);
    if (!content) return;
    hide();
    owner = anchor;
    owner.classList.add("lit");
    owner.setAttribute("aria-describedby", "card");
    card.replaceChildren(content.content.cloneNode(true));
    card.classList.toggle("small", !anchor.classList.contains("chip"));
    card.scrollTop = 0;
    card.hidden = false;
    place();
  }

  function hide() {
    clearTimeout(timer);
    if (!owner) return;
    owner.classList.remove("lit");
    owner.removeAttribute("aria-describedby");
    owner = null;
    card.hidden = true;
  }

  function later(act, wait) {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  }

  // A listener on the document also serves anchors that a script adds later.
  function on(kind, act) {
    document.addEventListener(kind, (event) => {
      const anchor = event.target.closest?.("[data-card]");
      if (anchor && !anchor.contains(event.relatedTarget)) act(anchor, event);
    });
  }

  on("pointerover", (anchor, event) => {
    if (event.pointerType !== "touch") later(() => show(anchor), owner ? 60 : 120);
  });
  on("pointerout", (anchor, event) => {
    // Moving the pointer from a citation to its card takes a moment.
    if (event.pointerType !== "touch") later(hide, 220);
  });
  on("pointerdown", (anchor, event) => {
    touched = event.pointerType === "touch";
  });
  on("focusin", (anchor) => {
    if (!touched) show(anchor);
  });
  on("focusout", () => {
    // A click into the card, to select text, takes the focus away.
    if (!card.matches(":hover")) later(hide, 120);
  });
  on("click", (anchor, event) => {
    if (!touched) {
      if (anchor.classList.contains("chip")) hide();
      return;
    }
    // A finger cannot hover, so the first tap shows the card, which has the link.
    event.preventDefault();
    touched = false;
    if (owner === anchor) hide();
    else show(anchor);
  });
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") later(hide, 220);
  });
  card.addEventListener("focusin", () => clearTimeout(timer));
  card.addEventListener("click", (event) => {
    if (event.target.closest("a")) later(hide, 0);
  });
  document.addEventListener("pointerdown", (event) => {
    if (owner && !card.contains(event.target) && !event.target.closest("[data-card]")) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  window.addEventListener("resize", hide);
})();
