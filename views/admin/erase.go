package admin

import (
	"mishap/crash"
	"mishap/views/layout"
	"mishap/views/problems"
)

// DumpPath returns the address of everything that is known about a machine.
func DumpPath(id crash.SystemID) string { return problems.SystemPath(id) + "/dump.jsonl" }

// EraseConfirmLength is the number of characters of the id that confirm an erasure.
const EraseConfirmLength = 8

// ErasePage asks whether to erase a machine.
type ErasePage struct {
	Shell   layout.Shell
	System  crash.SystemID
	Facts   crash.MachineFacts
	Before  []crash.Erasure // of the same machine, newest first
	Block   bool
	Problem string // why the last attempt was refused; empty: there was none
}

func (p ErasePage) form() layout.PostFormArgs {
	return layout.PostFormArgs{ID: "erase", Action: problems.ErasePath(p.System), CSRFToken: p.Shell.CSRFToken}
}

// running reports whether the machine is being erased.
func (p ErasePage) running() bool { return len(p.Before) > 0 && p.Before[0].Finished.IsZero() }

// ErasuresPage lists erased machines, newest first.
type ErasuresPage struct {
	Shell    layout.Shell
	Erasures []crash.Erasure
}
