// Opens parts of pages in the modal dialog: the review of a bug, the form that links one, the list of keys. Links with
// data-dialog do so, and the event mishap:dialog. The focus moves in; Escape and Close close it, and the focus returns to
// the link. If the server refuses the part, the reason is shown beside the link. Without scripts, and if the person has to
// sign in first, the link leads to the page.
(() => {
  "use strict";

  const dialog = document.getElementById("dialog");
  let opener = null; // what opened the dialog, and where it is, in case it is replaced
  let opened = "";   // the address of the part
  let loading = false;

  // load returns the part at an address, or "" if only a page of its own can show the answer.
  async function load(url) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(60000), headers: {
      Accept: "text/html", "HX-Request": "true", "HX-Request-Type": "partial", "HX-Current-URL": location.href,
    } });
    if (answer.status >= 400 && answer.status !== 401) {
      const refusal = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector(".flash-error");
      throw new Error("refused", { cause: refusal?.textContent.trim() });
    }
    return answer.ok && !answer.redirected && !answer.headers.has("HX-Redirect") ? answer.text() : "";
  }

  async function open(url, from) {
    if (dialog.open || loading) {
      return;
    }
    loading = true;
    const before = { link: from, place: from?.closest("[id][tabindex='-1']")?.id };
    from?.classList.add("htmx-request");
    let part;
    try {
      part = await load(url);
    } catch (error) {
      from?.dispatchEvent(new CustomEvent("mishap:no-answer", { bubbles: true, detail: error.cause }));
      return;
    } finally {
      from?.classList.remove("htmx-request");
      loading = false;
    }
    if (part === "") {
      location.assign(url);
      return;
    }
    dialog.innerHTML = part;
    opened = url;
    opener = before;
    const heading = dialog.querySelector("h2[id]");
    dialog.setAttribute("aria-labelledby", heading?.id ?? "");
    htmx.process(dialog);
    dialog.showModal();
    (dialog.querySelector("[autofocus]") ?? heading)?.focus();
  }

  // close closes the dialog, unless a listener to mishap:closing objects.
  function close() {
    if (dialog.open && document.dispatchEvent(new CustomEvent("mishap:closing", { cancelable: true }))) {
      dialog.close();
    }
  }

  dialog.addEventListener("close", () => {
    const again = opener.link?.isConnected ? opener.link : document.querySelector(`a[data-dialog][href="${CSS.escape(opened)}"]`);
    (again ?? document.getElementById(opener.place))?.focus();
    dialog.replaceChildren();
  });

  // The answer to a form of the dialog says what comes next: the found bug is linked with Enter, a refused text is corrected.
  document.addEventListener("htmx:after:swap", (event) => {
    if (event.detail.ctx?.target === dialog) {
      dialog.querySelector("[autofocus]")?.focus();
    }
  });

  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    close();
  });

  // Escape closes the dialog. A letter typed on a button goes into the first field: a name to assign to, a reason.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && dialog.open) {
      event.preventDefault();
      close();
    } else if (event.target.matches?.("#dialog button") && event.key.length === 1 && event.key !== " " &&
      !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.target.form?.querySelector("input:not([type=hidden], [type=checkbox], [type=radio]), textarea")?.focus();
    }
  });

  // A press outside closes the dialog, but the end of a selection that began inside does not.
  function outside(event) {
    const box = dialog.getBoundingClientRect();
    return event.target === dialog && (event.clientX < box.left || event.clientX > box.right ||
      event.clientY < box.top || event.clientY > box.bottom);
  }

  let pressedOutside = false;
  document.addEventListener("pointerdown", (event) => { pressedOutside = outside(event); });

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : null;
    if (target?.closest("[data-close]") || (pressedOutside && outside(event))) {
      close();
      return;
    }
    const link = target?.closest("a[data-dialog]");
    if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey && event.button === 0) {
      event.preventDefault();
      open(link.getAttribute("href"), link);
    }
  });

  document.addEventListener("mishap:dialog", (event) => {
    if (dialog.open) {
      if (opened === event.detail && event.target === document) { // the key that opened it
        close();
      }
    } else {
      open(event.detail, event.target instanceof Element ? event.target : document.activeElement);
    }
  });
})();
