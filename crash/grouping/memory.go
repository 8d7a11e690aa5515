package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// corruptionTexts are what the C library and the sanitizers say when they find that memory was overwritten or freed twice.
var corruptionTexts = []string{
	"double free", "invalid pointer", "corrupted size", "corrupted double-linked list", "corrupted unsorted chunks",
	"corrupted top size", "invalid next size", "invalid size (unsorted)", "malloc(): memory corruption", "malloc_consolidate():",
	"munmap_chunk(): invalid", "realloc(): invalid", "free(): invalid", "free(): corrupted", "heap corruption",
	"stack smashing detected", "buffer overflow detected",
	"heap-use-after-free", "heap-buffer-overflow", "stack-buffer-overflow", "stack-use-after", "attempting double-free",
}

// corruptionFunctions end a program for the same reasons.
var corruptionFunctions = map[string]string{
	"malloc_printerr": "the heap was found corrupted", "__stack_chk_fail": "a buffer on the stack was overrun",
	"__fortify_fail": "a buffer was overrun", "__chk_fail": "a buffer was overrun",
}

// SuspectedCorruption says why a crash may be one of corrupted memory, which somebody might use to break in: part of a
// sentence ("it wrote to memory that is not its own"). Empty: nothing of the report says so. It is a hint, no proof either
// way: it knows the words of the C library and of sanitizers, the functions that they end programs by, and apport's
// SegvReason, of which writing to and running at an address that is not NULL count. Reading such an address is mostly a
// pointer that was never set, and does not.
func SuspectedCorruption(f crash.Fields) string {
	for _, field := range []string{"AssertionMessage", "Title"} {
		text := strings.ToLower(crash.Truncate(f[field], maxWords))
		for _, words := range corruptionTexts {
			if strings.Contains(text, words) {
				return "the program was ended with the words “" + words + "”"
			}
		}
	}
	reason := strings.ToLower(strings.TrimFunc(crash.Truncate(f["SegvReason"], maxWords), pytext.IsSpace))
	if !strings.Contains(reason, "null") {
		switch {
		case strings.HasPrefix(reason, "writing"):
			return "it wrote to memory that is not its own"
		case strings.HasPrefix(reason, "executing"):
			return "it ran on at an address where there is no program"
		}
	}
	for i, frame := range Frames(f) {
		if i == 12 { // below that is the program's own way there
			break
		}
		if why := corruptionFunctions[frame.Function]; why != "" {
			return why
		}
	}
	return ""
}
