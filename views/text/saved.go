package text

// Texts of saved searches.
const (
	SavedLabel     = "Saved:"
	SavedSave      = "Save this search"
	SavedName      = "Name"
	SavedNameHint  = "SRU watch"
	SavedShare     = "Share with everyone who is signed in"
	SavedSubmit    = "Save"
	SavedManage    = "Manage"
	SavedTitle     = "Saved searches"
	SavedHint      = "A saved search stores a list with all its filters under a name."
	SavedNone      = "You have no saved searches. Choose filters in the list of problems, then press “Save this search”."
	SavedToList    = "Go to the list of problems"
	SavedEveryone  = "Visible to everyone"
	SavedOnlyYou   = "Visible only to you"
	SavedEdit      = "Edit…"
	SavedRename    = "Save"
	SavedDelete    = "Delete"
	SavedNotShared = "Only triagers can share searches."
	SavedRestored  = "Search restored."
	SavedBadPath   = "That is not the address of a list of problems."
	SavedNotYours  = "Only its owner or an admin can change this search."
)

// SavedDone confirms that a search was saved.
func SavedDone(name string) string { return "Saved as “" + name + "”." }

// SavedChanged confirms that a search was changed.
func SavedChanged(name string) string { return "Changed “" + name + "”." }

// SavedDeleted confirms that a search was deleted.
func SavedDeleted(name string) string { return "Deleted “" + name + "”." }

// SavedBy describes a shared search of another person.
func SavedBy(owner string) string { return "Shared by " + owner }

// SavedDeleteLabel labels the button that deletes a search.
func SavedDeleteLabel(name string) string { return "Delete “" + name + "”" }

// SavedNameLabel labels the field with the name of a search.
func SavedNameLabel(name string) string { return "Name of “" + name + "”" }

// SavedShareLabel labels the check box that shares a search.
func SavedShareLabel(name string) string { return "Share “" + name + "”" }
