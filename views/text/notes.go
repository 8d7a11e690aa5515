package text

// Texts of the notes about a problem.
const (
	NotesTitle    = "Notes"
	AddNote       = "Add a note"
	Note          = "Note"
	SaveNote      = "Save note"
	EditNote      = "Edit"
	RemoveNote    = "Remove note"
	NoteRemoved   = "removed"
	NoteSaved     = "Note saved"
	NoteIsRemoved = "Note removed. Its history is still here."
	NoSuchNote    = "There is no such note."
	NoteOfAnother = "This note is someone else’s. Triagers can edit it."
)

// NotesRemoved counts removed notes.
func NotesRemoved(n int) string { return Counted(int64(n), "removed note", "removed notes") }

// NoteChanges counts the changes of a note.
func NoteChanges(n int) string { return Counted(int64(n), "change", "changes") }
