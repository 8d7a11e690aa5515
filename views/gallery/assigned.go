package gallery

import (
	"fmt"

	"mishap/crash"
	"mishap/crash/index"
	problemsview "mishap/views/problems"
)

// people returns who takes care of a problem, as a person sees it.
func people(user crash.User) problemsview.PeopleView {
	b := bucket(0)
	return problemsview.PeopleView{Bucket: b.ID, Person: user, Tracker: "Launchpad", CSRFToken: "token", Now: now,
		Follow: problemsview.FollowPart{Follow: crash.Follow{Kind: crash.FollowProblem, Name: b.ID.String()},
			CSRFToken: "token"}}
}

// assigned returns a problem that is assigned in the tracker, with tags, a history and a note that
// names its reader.
func assigned() problemsview.ProblemPage {
	page := problem(viewer)
	page.People.Assigned = crash.Assigned{Name: "~desktop-packages", Bug: 2101233}
	page.People.BugURL = "https://bugs.launchpad.net/bugs/2101233"
	page.People.Follow.On = true
	for i := range crash.MaxTags {
		page.People.Tags = append(page.People.Tags, crash.ProblemTag{Tag: fmt.Sprint("quite-a-long-tag-", i), Person: "ada"})
	}
	page.People.History = []crash.Assignment{
		{ID: 2, Assignee: "~desktop-packages", By: "vera", At: now},
		{ID: 1, Assignee: "ada", By: "ada", At: now.AddDate(0, 0, -2), UndoneBy: "vera", UndoneAt: now.AddDate(0, 0, -1)},
	}
	page.Notes = problemsview.NotesView{Bucket: page.Bucket.ID, Person: "vera", Now: now, CSRFToken: "token",
		Names: map[string]string{"Vera": "vera"}, Notes: []crash.Note{{ID: 1, Person: "ada", Written: now,
			Texts: []crash.NoteText{{At: now, Person: "ada", Text: "@Vera, can you look? Or @nobody."}}}}}
	return page
}

// refusedAssignee returns a problem after a mistake in both forms.
func refusedAssignee() problemsview.ProblemPage {
	page := problem(admin)
	page.People.Assigned.Name, page.People.Typed = "vera", "ver"
	page.People.Problem = `There is no account named "ver". For a person or team at the tracker, write ~ver.`
	page.People.TypedTag, page.People.TagProblem = "two words", `"two words" is not a tag.`
	page.People.Tags = []crash.ProblemTag{{Tag: "sru"}}
	return page
}

// assignChosen returns the form that assigns two problems.
func assignChosen() problemsview.AssignChosenPage {
	return problemsview.AssignChosenPage{Shell: shell("Assign problems", admin), Tracker: "Launchpad",
		Problems: bucket(0).ID.String(),
		Rows: []problemsview.AssignChosenRow{
			{Bucket: bucket(0), Assigned: crash.Assigned{Name: "ada"}},
			{Bucket: bucket(1), Assigned: crash.Assigned{Name: "~desktop-packages", Bug: 2101233}},
			{Bucket: bucket(2)},
		}}
}

// assignedList returns a list whose rows have assignees and tags.
func assignedList() problemsview.ListPage {
	page := list(shell("", admin), bugStates(admin))
	for i, p := range []index.People{
		{Assigned: crash.Assigned{Name: "ada"}, TagList: "needs-info sru"},
		{Assigned: crash.Assigned{Name: "~desktop-packages"}},
		{TagList: "a-long-tag-of-many-letters b c d"},
	} {
		page.Rows[i].People = &p
	}
	return page
}
