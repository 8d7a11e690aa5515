// Package grouping works out which problem a report belongs to: it reads stacks, tracebacks and messages, applies apport's
// signature rules and rules of its own, and explains which lines of which field a rule used. It also derives titles and
// summaries. All functions are pure and bound the text that they read.
package grouping
