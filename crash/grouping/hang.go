package grouping

import (
	"strings"

	"mishap/crash"
)

// hangSignature is the rule for programs that stopped responding, if the report has only a
// ThreadStacktrace. The signature consists of the program, "hang", and the first five named
// functions of its first thread, which should respond. It omits functions in which a thread waits.
// Hangs with a Stacktrace are grouped like crashes.
func hangSignature(f crash.Fields, rec *recorder) string {
	program := subject(f)
	if f["ProblemType"] != "Hang" || f["ThreadStacktrace"] == "" || program == "" {
		return ""
	}
	rec.read("ThreadStacktrace")
	var names []string
	telling := 0
	for _, frame := range firstThread(Threads(crash.Fields{"ThreadStacktrace": headOf(f["ThreadStacktrace"])})) {
		name := cleanSymbol(frame.Function)
		why := ""
		switch {
		case name == "":
			why = "it has no name"
		case len(names) == 0 && isWaiting(name):
			why = "it only waits"
		case len(names) == maxSignatureFrames:
			why = "the signature has enough frames"
		}
		if !rec.decide(frame.text(), name, why) {
			continue
		}
		markThreadFrame(f["ThreadStacktrace"], frame.Number, rec)
		names = append(names, name)
		if !isCommon(name) {
			telling++
		}
	}
	if telling == 0 {
		return ""
	}
	return join(append([]string{program, "hang"}, names...)...)
}

// markThreadFrame marks the frame with the given number in thread 1.
func markThreadFrame(text string, number int, rec *recorder) {
	if rec == nil {
		return
	}
	first := false
	for at, line := range linesAt(text, 0) {
		if thread, ok := parseThread(line); ok {
			if first {
				return
			}
			first = thread.Number == 1
			continue
		}
		if n, _, ok := cutNumber(line); ok && first && n == number {
			rec.mark("ThreadStacktrace", at)
			return
		}
	}
}

// firstThread returns the frames of thread 1, the main thread.
func firstThread(threads []Thread) []Frame {
	for _, t := range threads {
		if t.Number == 1 {
			return t.Frames
		}
	}
	return nil
}

// isWaiting matches functions of the C library in which a thread waits.
func isWaiting(name string) bool {
	switch strings.TrimLeft(strings.TrimPrefix(name, "__GI_"), "_") {
	case "poll", "ppoll", "select", "epoll_wait", "syscall", "syscall_cancel", "internal_syscall_cancel",
		"syscall_cancel_arch", "read", "libc_read", "recv", "libc_recv", "recvmsg", "clock_nanosleep",
		"clock_nanosleep_time64", "nanosleep", "wait4", "waitpid", "lll_lock_wait", "lll_lock_wait_private":
		return true
	}
	for _, start := range [...]string{"__futex_", "futex_", "__pthread_cond_", "___pthread_cond_", "pthread_cond_",
		"__pthread_mutex_", "___pthread_mutex_", "pthread_mutex_", "__new_sem_wait"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}
