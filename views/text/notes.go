package text

// Texts of the notes about a problem.
const (
	NotesTitle    = "Notes"
	AddNote       = "Add a note"
	Note          = "Note"
	NoteHint      = "Write @ and a name to notify that person."
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

// MentionsFound announces names that complete a mention.
func MentionsFound(n int, more bool) string {
	switch {
	case n == 0:
		return "No names."
	case more:
		return "The first " + Counted(int64(n), "name", "names") + ". Arrow keys select, Enter inserts."
	}
	return Counted(int64(n), "name", "names") + ". Arrow keys select, Enter inserts."
}
