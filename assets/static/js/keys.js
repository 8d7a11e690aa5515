// Handles the keys that the page "Keys and words" lists. They do nothing while a person types, or with Ctrl, Alt or Meta; but
// Ctrl and Enter send a text.
(() => {
  "use strict";

  const rows = () => [...document.querySelectorAll("table.problems tbody tr:not(.group), table.rows tbody tr")];
  const linkOf = (row) => row.querySelector("td.problem a.title") ?? row.querySelector("a[href]");
  let current = null;
  let place = 0; // of the current row, in case it goes

  // setCurrent makes a row the current one, and remembers its problem for the next page of this tab.
  function setCurrent(row) {
    current?.classList.remove("current");
    current = row;
    row.classList.add("current");
    place = rows().indexOf(row);
    sessionStorage.setItem("current", linkOf(row)?.pathname ?? "");
  }

  // recall returns to the row of the last problem after the page was loaded or changed. If the row has gone, the one in
  // its place becomes the current one.
  function recall() {
    const all = rows();
    const last = sessionStorage.getItem("current");
    const row = all.find((one) => last && linkOf(one)?.pathname === last) ?? (current ? all[Math.min(place, all.length - 1)] : null);
    if (!row || (row === current && row.classList.contains("current"))) {
      return;
    }
    const used = current !== null;
    setCurrent(row);
    if (used && (document.activeElement === document.body || !document.activeElement?.isConnected)) {
      linkOf(row)?.focus({ preventScroll: true });
    }
  }

  function typing(target) {
    return target instanceof Element && target.closest("input:not([type=checkbox]):not([type=radio]), select, textarea, [contenteditable]") !== null;
  }

  function move(step) {
    const all = rows();
    const neighbour = document.querySelector(`.page-head .pager a[rel=${step > 0 ? "next" : "prev"}]`);
    if (neighbour || all.length === 0) {
      neighbour?.click();
      return neighbour !== null;
    }
    const at = current?.isConnected ? all.indexOf(current) : -1;
    const to = at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1);
    setCurrent(all[to]);
    linkOf(current)?.focus({ preventScroll: true });
    current.scrollIntoView({ block: "nearest" });
    return true;
  }

  // of returns an element of the current row, else of the page of a problem.
  function of(selector) {
    return (current?.isConnected ? current : document.querySelector("#bugs"))?.querySelector(selector) ?? null;
  }

  function click(found) {
    found?.click();
    return found !== null;
  }

  const press = (selector) => click(of(selector));

  // review opens the review of the bug of the current row.
  function review() {
    const link = of("a.row-menu:not([hidden])");
    if (!link?.pathname.endsWith("/review")) {
      return false;
    }
    link.dispatchEvent(new CustomEvent("mishap:dialog", { bubbles: true, detail: link.getAttribute("href") }));
    return true;
  }

  // unfold opens a form of the page (see data-focus in look.js), with the cursor in its field.
  function unfold(selector) {
    const form = document.querySelector(selector);
    if (form?.open) {
      form.querySelector("textarea, input:not([type=hidden])")?.focus();
    } else {
      form?.querySelector("summary").click();
    }
    return form !== null;
  }

  // currentTitle returns the link to the problem of the current row, or null.
  const currentTitle = () => (current?.isConnected ? current.querySelector("td.problem a.title") : null);

  // decide opens the form of a decision: about the selected rows, else the current row, else the problem of the page.
  function decide(what) {
    const button = document.querySelector(`#bulk button[value=${what}]`);
    if (button && document.querySelector("td.select input:checked")) {
      button.click();
      return true;
    }
    const title = currentTitle();
    const opener = title ?? document.querySelector(`main a[data-dialog][href$='/${what}']`);
    if (!opener || (title && !document.querySelector("main[data-triages]"))) {
      return false;
    }
    const path = title ? `${title.pathname}/${what}` : opener.getAttribute("href");
    opener.dispatchEvent(new CustomEvent("mishap:dialog", { bubbles: true, detail: path }));
    return true;
  }

  // assignMe assigns the selected rows, else the current row, else the problem of the page, to the person.
  function assignMe() {
    const form = document.getElementById("row-assign");
    const title = currentTitle();
    if (!form || !title) {
      return click(document.querySelector("#assign-me button"));
    }
    const chosen = [...document.querySelectorAll("td.select input:checked")].map((box) => box.value);
    form.elements.problems.value = chosen.join(".") || title.pathname.slice(title.pathname.lastIndexOf("/") + 1);
    form.requestSubmit(form.querySelector("button"));
    return true;
  }

  const keys = {
    "/": () => {
      const box = document.querySelector("input[type=search][name=q]");
      box?.focus();
      box?.select();
      return box !== null;
    },
    j: () => move(1),
    k: () => move(-1),
    o: () => press("a[data-open], td.problem a.title, a[href^='/problem/'], a[href^='/oops/']"),
    c: () => review() || press("a.review-link:not([hidden])"),
    "Shift+C": () => press("form.create-bug button, button[form=create-bug]"),
    l: () => decide("link"),
    a: () => decide("assign"),
    i: assignMe,
    m: () => decide("mute"),
    d: () => decide("merge"),
    t: () => click(document.querySelector("#merge-family button")),
    w: () => decide("wontfix"),
    f: () => decide("fixed"),
    n: () => unfold("#notes details[data-focus]"),
    ",": () => click(document.querySelector("#stack-newer[href]")),
    ".": () => click(document.querySelector("#stack-older[href]")),
    u: () => click(document.querySelector("#flash form button")),
    e: () => press("#manual a[href$='/embargo']"),
    x: () => press("td.select input[type=checkbox]"),
    "?": () => {
      document.dispatchEvent(new CustomEvent("mishap:dialog", { detail: "/keys" }));
      return true;
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches?.("textarea")) {
      event.target.form?.requestSubmit();
      return;
    }
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || typing(event.target)) {
      if (event.key === "Escape" && typing(event.target) && event.target.matches("input[type=search]")) {
        event.target.blur();
      }
      return;
    }
    if (document.querySelector("dialog[open]") && event.key !== "?") {
      return; // the dialog handles keys itself
    }
    // Creating a bug requires the Shift key: with Caps Lock alone, C means c.
    const letter = event.key.length === 1 && event.key.toLowerCase() === "c";
    const does = keys[letter ? (event.shiftKey ? "Shift+C" : "c") : event.key];
    if (does && does()) {
      event.preventDefault();
    }
  });

  const problem = location.pathname.match(/^\/problem\/[0-9a-f]{40}$/);
  if (problem) {
    sessionStorage.setItem("current", problem[0]);
  }
  recall();
  document.addEventListener("htmx:after:swap", recall);
})();
