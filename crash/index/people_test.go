package index_test

import (
	"testing"

	"mishap/crash"
	"mishap/crash/index"
)

func TestPeople(t *testing.T) {
	t.Parallel()
	is := func(name, tags string) *index.Problem {
		return problem(t, seenOn, func(p *index.Problem) {
			p.People = &index.People{Assigned: crash.Assigned{Name: name}, TagList: tags}
		})
	}
	anna, team, nobody := is("anna", "sru c++"), is("~desktop-packages", ""), problem(t, seenOn, nil)
	for text, want := range map[string][3]bool{ // results for anna, team and nobody
		"assignee:anna":                {true, false, false},
		"assignee:ANNA":                {true, false, false},
		"assignee:ann":                 {false, false, false},
		"assignee:an*":                 {true, false, false},
		"assignee:desktop-packages":    {false, true, false},
		"assignee:~desktop-packages":   {false, true, false},
		"assignee:~anna":               {false, false, false},
		"assignee:none":                {false, false, true},
		"assignee:any":                 {true, true, false},
		"-assignee:any":                {false, false, true},
		"assignee:me":                  {true, false, false},
		"-assignee:me":                 {false, true, true},
		"tidewatch (assignee:me OR x)": {true, false, false},
		"tag:sru":                      {true, false, false},
		"tag:s*":                       {true, false, false},
		"tag:none":                     {false, true, true},
		"tag:any":                      {true, false, false},
		"tag:c++ tag:sru":              {true, false, false},
		"tag:sr":                       {false, false, false},
	} {
		q, err := index.ParseQuery(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		mine := q.For([]string{"Anna", "~anna-lp"})
		for i, p := range []*index.Problem{anna, team, nobody} {
			if got := mine.Match(p); got != want[i] {
				t.Errorf("%s, problem %d: got %t, want %t", text, i, got, want[i])
			}
		}
		if q.String() != mine.String() {
			t.Errorf("%s: the query of a person is %q", text, mine)
		}
	}
	// Visitors see no assignees and no tags.
	for _, text := range []string{"assignee:any", "tag:any", "assignee:anna"} {
		if q, err := index.ParseQuery(text); err != nil || q.Match(anna.Public()) {
			t.Errorf("%s matches for a visitor (%v)", text, err)
		}
	}
}

// TestMeIsAPerson checks that two people do not share a cached list.
func TestMeIsAPerson(t *testing.T) {
	t.Parallel()
	q, err := index.ParseQuery("assignee:me")
	if err != nil {
		t.Fatal(err)
	}
	anna, bob := q.For([]string{"anna"}).Narrow(index.Filter{}), q.For([]string{"bob"}).Narrow(index.Filter{})
	if !q.Personal() || anna.Query == bob.Query {
		t.Errorf("both lists have the key %q", anna.Query)
	}
	if q, err = index.ParseQuery("tidewatch"); err != nil {
		t.Fatal(err)
	}
	if q.Personal() || q.For([]string{"anna"}).Narrow(index.Filter{}) != q.Narrow(index.Filter{}) {
		t.Error("a list that is the same for everyone depends on the person")
	}
}
