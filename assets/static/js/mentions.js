// Completes names after @ in notes. The field stays a text box, since a combobox has one line only: it controls a list box,
// aria-activedescendant names the selected option, and a status announces how many names there are. Arrow keys select;
// Enter, Tab, a click or a tap inserts; Escape closes. Without scripts, people type the whole name.
(() => {
  "use strict";

  // As in the server: an at sign that is not part of a word, an e-mail address or a path.
  const mention = /(?:^|[^\p{L}\p{N}._%+@/-])@([\p{L}\p{N}][\p{L}\p{N}._@+-]{0,63})?$/u;
  const pause = 100; // milliseconds without a key before a request

  let field = null; // the field that has the list
  let list = null;
  let status = null;
  let timer = 0;
  let request = null;

  // typed returns the text between the at sign and the cursor, or null if the cursor is not in a mention.
  function typed() {
    const found = field.selectionStart === field.selectionEnd && field.value.slice(0, field.selectionStart).match(mention);
    return found ? found[1] ?? "" : null;
  }

  const options = () => [...(list?.querySelectorAll("[role=option]") ?? [])];
  const opened = () => list !== null && !list.hidden;

  // attach puts an empty list below a field.
  function attach(to) {
    if (field === to) {
      return;
    }
    detach();
    field = to;
    list = document.createElement("div");
    list.id = `${field.id}-names`;
    list.className = "mentions";
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Names");
    status = document.createElement("span");
    status.className = "hidden";
    status.setAttribute("role", "status");
    field.after(list, status);
    field.setAttribute("aria-autocomplete", "list");
    field.setAttribute("aria-haspopup", "listbox");
    field.setAttribute("aria-controls", list.id);
    field.autocomplete = "off";
  }

  function detach() {
    close();
    list?.remove();
    status?.remove();
    for (const name of ["autocomplete", "haspopup", "controls"]) {
      field?.removeAttribute(`aria-${name}`);
    }
    field = list = status = null;
  }

  function close() {
    clearTimeout(timer);
    request?.abort();
    if (list) {
      list.hidden = true;
      list.replaceChildren();
      status.textContent = "";
      field.removeAttribute("aria-activedescendant");
    }
  }

  function select(option) {
    for (const other of options()) {
      other.setAttribute("aria-selected", String(other === option));
    }
    field.setAttribute("aria-activedescendant", option.id);
    option.scrollIntoView({ block: "nearest" });
  }

  async function offer() {
    const text = typed();
    if (text === null) {
      return;
    }
    request?.abort();
    const mine = request = new AbortController();
    let answer;
    try {
      answer = await fetch(field.dataset.mentions + encodeURIComponent(text), { signal: mine.signal, headers: {
        Accept: "text/html", "HX-Request": "true", "HX-Request-Type": "partial", "HX-Current-URL": location.href,
      } });
      answer = answer.ok && !answer.redirected ? await answer.text() : "";
    } catch {
      return; // a later key has replaced the request, or there is no answer: the name can be typed
    }
    if (mine.signal.aborted || field === null || typed() !== text) {
      return;
    }
    list.innerHTML = answer;
    const found = options();
    if (found.length === 1 && found[0].textContent.toLowerCase() === text.toLowerCase()) {
      close(); // the name is complete
      return;
    }
    status.textContent = list.querySelector("[data-announce]")?.dataset.announce ?? "";
    list.hidden = found.length === 0;
    if (found.length > 0) {
      select(found[0]);
    }
  }

  function insert(option) {
    const text = typed();
    if (text === null) {
      close();
      return;
    }
    const end = field.selectionStart;
    const start = end - text.length;
    const space = /^\s/.test(field.value.slice(end)) ? "" : " ";
    field.setRangeText(option.textContent + space, start, end, "end");
    field.dispatchEvent(new Event("change", { bubbles: true }));
    close();
  }

  document.addEventListener("input", (event) => {
    if (!event.target.matches?.("textarea[data-mentions]")) {
      return;
    }
    attach(event.target);
    if (typed() === null) {
      close();
      return;
    }
    clearTimeout(timer);
    timer = setTimeout(offer, pause);
  });

  document.addEventListener("keydown", (event) => {
    if (event.target !== field || !opened() || event.isComposing || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const all = options();
    const at = all.findIndex((option) => option.id === field.getAttribute("aria-activedescendant"));
    switch (event.key) {
    case "ArrowDown": select(all[(at + 1) % all.length]); break;
    case "ArrowUp": select(all[(at - 1 + all.length) % all.length]); break;
    case "Escape": close(); break;
    case "Enter":
    case "Tab":
      if (event.shiftKey) {
        close();
        return;
      }
      insert(all[at]);
      break;
    default:
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);

  // The field keeps the focus while a name is pressed.
  document.addEventListener("mousedown", (event) => {
    if (list?.contains(event.target)) {
      event.preventDefault();
    }
  });

  document.addEventListener("click", (event) => {
    const option = event.target.closest?.("[role=option]");
    if (option && list?.contains(option)) {
      insert(option);
    } else if (event.target === field && opened() && typed() === null) {
      close();
    }
  });

  document.addEventListener("focusout", (event) => {
    if (event.target === field) {
      close();
    }
  });
})();
