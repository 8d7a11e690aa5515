package grouping

import (
	"strings"

	"mishap/crash"
	"mishap/crash/pytext"
)

// corruptionTexts lists messages of the C library and of sanitizers about overwritten or doubly
// freed memory.
var corruptionTexts = []string{
	"double free", "invalid pointer", "corrupted size", "corrupted double-linked list", "corrupted unsorted chunks",
	"corrupted top size", "invalid next size", "invalid size (unsorted)", "malloc(): memory corruption",
	"malloc_consolidate():", "munmap_chunk(): invalid", "realloc(): invalid", "free(): invalid", "free(): corrupted",
	"heap corruption", "stack smashing detected", "buffer overflow detected", "heap-use-after-free",
	"heap-buffer-overflow", "stack-buffer-overflow", "stack-use-after", "attempting double-free",
}

// corruptionFunctions maps functions that end a program for such reasons to the reason.
var corruptionFunctions = map[string]string{
	"malloc_printerr": "the heap was found corrupted", "__stack_chk_fail": "a buffer on the stack was overrun",
	"__fortify_fail": "a buffer was overrun", "__chk_fail": "a buffer was overrun",
}

// SuspectedCorruption says why a crash may be due to corrupted memory, which attackers might
// exploit. It returns part of a sentence ("it wrote to memory that is not its own"), or "" if
// nothing suggests corruption. It is a hint, not proof: it knows messages of the C library and of
// sanitizers, and the functions by which they end programs. In apport's SegvReason, it looks for
// writes and jumps to addresses other than NULL. It ignores reads, which are mostly due to
// uninitialised pointers.
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
		if i == 12 { // lower frames often belong to the normal path of the program
			break
		}
		if why := corruptionFunctions[frame.Function]; why != "" {
			return why
		}
	}
	return ""
}
