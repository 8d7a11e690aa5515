// Handles selected rows of lists: counts them in the bar, selects all, and selects ranges with Shift. Opens the menu of a
// row. Without scripts, the bar has no count, and the menu is a link.
(() => {
  "use strict";

  const boxes = () => [...document.querySelectorAll(".select [name=bucket]")];
  let last = null; // the box that was changed last

  function count() {
    const bar = document.getElementById("bulk");
    const all = document.getElementById("select-all");
    const total = boxes();
    const n = total.filter((box) => box.checked).length;
    if (all) {
      all.checked = n > 0 && n === total.length;
      all.indeterminate = n > 0 && n < total.length;
    }
    if (!bar) {
      return;
    }
    bar.querySelector(".bulk-count").textContent = `${n} selected`;
    // Only rows with a button of their own get a bug.
    const bugs = total.filter((box) => box.checked && box.closest("tr").querySelector(".bug-now .create")).length;
    for (const button of bar.querySelectorAll("[data-many]")) {
      button.textContent = bugs === 1 ? button.dataset.one : button.dataset.many.replace("#", String(bugs));
      button.disabled = bugs === 0;
    }
  }

  // addSelectAll adds a check box to the heading of the list. Without scripts it would do nothing.
  function addSelectAll() {
    const head = document.querySelector("th.select");
    if (head && !head.querySelector("input")) {
      const box = document.createElement("input");
      box.type = "checkbox";
      box.id = "select-all";
      box.setAttribute("aria-label", "Select all rows");
      head.replaceChildren(box);
    }
    count();
  }

  document.addEventListener("change", (event) => {
    const box = event.target;
    if (box.id === "select-all") {
      boxes().forEach((other) => { other.checked = box.checked; });
      count();
    } else if (box.matches?.(".select [name=bucket]")) {
      last = box;
      count();
    }
  });

  document.addEventListener("reset", () => setTimeout(count));
  addSelectAll();
  addEventListener("pageshow", count); // browsers may have restored check boxes

  // openMenu shows the actions on the problem of a row below its button.
  function openMenu(button) {
    const menu = document.getElementById("row-menu");
    const row = button.closest("tr");
    const [review, pkg] = menu.querySelectorAll("a:not([data-decision])");
    const problem = new URL(row.querySelector("a.title").href).pathname;
    const program = row.querySelector("a.package") ?? row.querySelector("a.title b");
    review.hidden = !button.pathname.endsWith("/review") || row.querySelector(".bug-link") !== null;
    review.href = button.getAttribute("href");
    for (const link of menu.querySelectorAll("a[data-decision]")) {
      link.href = `${problem}/${link.dataset.decision}`;
    }
    for (const field of menu.querySelectorAll("[name=problems]")) {
      field.value = problem.slice(problem.lastIndexOf("/") + 1);
    }
    pkg.href = `/package/${encodeURIComponent(program.textContent)}`;
    pkg.textContent = `Package ${program.textContent}`;
    menu.opener = button;
    menu.showPopover({ source: button });
    const at = button.getBoundingClientRect();
    const size = menu.getBoundingClientRect();
    menu.style.left = `${Math.max(8, Math.min(at.right - size.width, innerWidth - size.width - 8))}px`;
    menu.style.top = `${at.bottom + size.height + 8 > innerHeight ? at.top - size.height - 4 : at.bottom + 4}px`;
    menu.querySelector("a:not([hidden])").focus();
  }

  document.addEventListener("submit", (event) => event.target.closest("#row-menu")?.hidePopover());
  addEventListener("scroll", () => document.querySelector("#row-menu:popover-open")?.hidePopover(), { passive: true });

  document.addEventListener("click", (event) => {
    const target = event.target instanceof Element ? event.target : document.body;
    const box = target.closest(".select [name=bucket]");
    if (box && event.shiftKey && last?.isConnected) {
      const all = boxes();
      const [from, to] = [all.indexOf(last), all.indexOf(box)].sort((a, b) => a - b);
      all.slice(from, to + 1).forEach((other) => { other.checked = box.checked; });
      count();
    }
    if (event.ctrlKey || event.metaKey || event.shiftKey) {
      return;
    }
    const decision = target.closest("#bulk button[data-decision]");
    if (decision) {
      const chosen = boxes().filter((one) => one.checked).map((one) => one.value);
      if (chosen.length > 0) {
        event.preventDefault();
        decision.dispatchEvent(new CustomEvent("mishap:dialog", {
          bubbles: true, detail: `/problems/${decision.value}?problems=${chosen.join(".")}`,
        }));
      }
      return;
    }
    const button = target.closest("a.row-menu");
    const menu = document.getElementById("row-menu");
    if (button && menu?.showPopover) {
      event.preventDefault();
      openMenu(button);
      return;
    }
    const link = target.closest("#row-menu [data-in-dialog]");
    if (link) {
      event.preventDefault();
      menu.hidePopover();
      menu.opener.dispatchEvent(new CustomEvent("mishap:dialog", { bubbles: true, detail: link.getAttribute("href") }));
    }
  });

  htmx.registerExtension("select", { htmx_after_swap: addSelectAll });
})();
