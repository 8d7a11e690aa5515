package views

import (
	"mishap/crash"
)

// DumpPath returns the address of everything that is known about a machine.
func DumpPath(id crash.SystemID) string { return SystemPath(id) + "/dump.jsonl" }

// EraseConfirmLength is the number of characters of the id that confirm an erasure.
const EraseConfirmLength = 8

// ErasePage asks whether to erase a machine.
type ErasePage struct {
	Shell   Shell
	System  crash.SystemID
	Facts   crash.MachineFacts
	Before  []crash.Erasure // of the same machine, newest first
	Block   bool
	Problem string // why the last attempt was refused; empty: there was none
}

func (p ErasePage) form() PostFormArgs {
	return PostFormArgs{ID: "erase", Action: ErasePath(p.System), CSRFToken: p.Shell.CSRFToken}
}

// running reports whether the machine is being erased.
func (p ErasePage) running() bool { return len(p.Before) > 0 && p.Before[0].Finished.IsZero() }

// ErasuresPage lists erased machines, newest first.
type ErasuresPage struct {
	Shell    Shell
	Erasures []crash.Erasure
}
