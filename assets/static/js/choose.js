// Keeps the period and the days of a list consistent: entering days sets the period to "the days chosen", and selecting
// another period clears them. Selecting "the days chosen" moves the focus to the days. Without scripts, the server does so
// when it gets the form.
(() => {
  "use strict";

  document.addEventListener("change", (event) => {
    const form = event.target instanceof Element ? event.target.closest("form.sentence") : null;
    const period = form?.elements.namedItem("period");
    const days = form ? ["from", "to"].map((name) => form.elements.namedItem(name)).filter(Boolean) : [];
    if (!(period instanceof HTMLSelectElement) || days.length === 0) {
      return;
    }
    if (days.includes(event.target)) {
      period.value = days.some((day) => day.value !== "") ? "range" : period.dataset.otherwise;
    } else if (event.target === period && period.value === "range") {
      form.querySelector("details.more").open = true;
      days[0].focus();
      event.stopImmediatePropagation(); // do not send the form before a day is entered
    } else if (event.target === period) {
      days.forEach((day) => { day.value = ""; });
    }
    const shown = form.elements.namedItem("shown");
    if (shown) {
      shown.value = period.value;
    }
  }, true);
})();
