package problems

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/db"
	"mishap/handlers/panel"
	"mishap/handlers/web"
	bugsview "mishap/views/bugs"
	"mishap/views/layout"
	view "mishap/views/problems"
)

const (
	// newsRows is the largest number of problems with one reason that the list of new ones shows.
	newsRows = panel.MaxChosen / len(newsReasons)
	// keptRead is how long the way from problem to problem still leads back to one that was read.
	keptRead = 12 * time.Hour
)

// newsReasons are the reasons in the order of the list.
var newsReasons = [...]crash.NewsReason{crash.NewsAgain, crash.NewsNew, crash.NewsRising, crash.NewsUndecided}

// news is what is new for a person: the problems in the order in which they should be read.
type news struct {
	index   *index.Index
	filter  index.Filter
	entries []newsEntry
	more    int64 // undecided problems that are not among entries
}

type newsEntry struct {
	index.Row
	reason crash.NewsReason
	read   bool // for this reason, less than keptRead ago
}

// readNews returns what is new for the current person: in all packages, or in what they follow.
func (s *choices) readNews(r *http.Request, mine bool) (*news, error) {
	ctx, user := r.Context(), web.CurrentUser(r)
	b, err := s.Store.IndexWithStates(ctx)
	if err != nil {
		return nil, err
	}
	reads, err := s.People.Reads(ctx, user.ID)
	if err != nil {
		return nil, err
	}
	chosen := func(*index.Problem) bool { return true }
	if mine {
		follows, err := s.People.Followed(ctx, user.ID)
		if err != nil {
			return nil, err
		}
		selected, _, err := s.selectFollowed(r, b, follows)
		if err != nil {
			return nil, err
		}
		chosen = selected.match
	}
	now := s.web.Now()
	rules := db.NewsOf(b, now)
	found := &news{index: b, filter: view.ListChoice{Period: crash.PeriodYear}.FilterOn(now)}
	// wanted reports whether a problem is unread, or was read so recently that the way back still leads to it.
	wanted := func(p *index.Problem, reason crash.NewsReason) bool {
		read := reads[p.ID]
		return read.Reason != reason || now.Sub(read.At) < keptRead
	}
	oldest := found.filter
	oldest.Sort, oldest.Ascending = index.ByFirst, true
	rows, _ := b.All(oldest, func(p *index.Problem) bool {
		reason := rules.Reason(p)
		return reason != "" && chosen(p) && wanted(p, reason)
	})
	undecided := 0
	for _, row := range rows {
		reason := rules.Reason(row.Problem)
		if reason == crash.NewsUndecided {
			undecided++
		}
		if reason != crash.NewsUndecided || undecided <= newsRows {
			found.entries = append(found.entries, newsEntry{row, reason, reads[row.ID].Reason == reason})
		}
	}
	found.more = int64(max(undecided-newsRows, 0))
	slices.SortStableFunc(found.entries, func(x, y newsEntry) int {
		return cmp.Or(slices.Index(newsReasons[:], x.reason)-slices.Index(newsReasons[:], y.reason), x.compare(y, rules))
	})
	return found, nil
}

// compare sorts entries with the same reason: what has just happened first, but the oldest of the undecided ones.
func (e newsEntry) compare(other newsEntry, rules db.News) int {
	switch e.reason {
	case crash.NewsAgain:
		return other.Last().At.Compare(e.Last().At)
	case crash.NewsNew:
		return other.First().At.Compare(e.First().At)
	case crash.NewsRising:
		return cmp.Compare(rules.Rising[other.ID].Week, rules.Rising[e.ID].Week)
	case crash.NewsUndecided:
	}
	return e.First().At.Compare(other.First().At)
}

// isMine reports whether a query asks for what the person follows.
func isMine(q url.Values) bool { return q.Get("of") == "mine" }

// ShowNews shows what is new since the person last looked.
func (s *Lists) ShowNews(w http.ResponseWriter, r *http.Request) error {
	mine := isMine(r.URL.Query())
	found, err := s.choices.readNews(r, mine)
	if err != nil {
		return err
	}
	page := view.NewsPage{Mine: mine}
	counts := map[crash.NewsReason]int64{crash.NewsUndecided: found.more}
	shown := map[crash.NewsReason][]index.Row{}
	for _, e := range found.entries {
		if e.read {
			continue
		}
		if counts[e.reason]++; len(shown[e.reason]) < newsRows {
			shown[e.reason] = append(shown[e.reason], e.Row)
		}
	}
	var all []index.Row
	reasons := map[crash.BucketID]crash.NewsReason{}
	for _, reason := range newsReasons {
		all = append(all, shown[reason]...)
		for _, row := range shown[reason] {
			reasons[row.ID] = reason
		}
	}
	rows, err := s.listRows(r, found.index, found.filter, all)
	if err != nil {
		return err
	}
	page.Shell = s.web.Shell(r, view.NewsTitle)
	page.List = view.ListPage{Shell: page.Shell, Choice: view.ListChoice{Period: crash.PeriodYear}, Rows: rows,
		Tracker: s.panel.Trackers(), From: page.URL()}
	for _, reason := range newsReasons {
		group := view.NewsGroup{Reason: reason, Count: counts[reason]}
		for i := range rows {
			if reasons[rows[i].ID] == reason {
				group.Rows = append(group.Rows, &rows[i])
			}
		}
		if len(group.Rows) > 0 {
			page.Groups = append(page.Groups, group)
		}
	}
	return s.web.Page(w, r, http.StatusOK, view.News(page))
}

// newsNavigation returns the neighbours of a problem in the list of new ones: the next unread one, and the one before,
// read or not.
func (s *choices) newsNavigation(r *http.Request, l *origin, id crash.BucketID) (*layout.Pager, error) {
	found, err := s.readNews(r, l.mine)
	if err != nil {
		return nil, err
	}
	nav := &layout.Pager{Via: l.address, List: view.NewsTitle}
	at := slices.IndexFunc(found.entries, func(e newsEntry) bool { return e.ID == id })
	if at > 0 {
		nav.Previous = layout.WithVia(found.entries[at-1].ID.Path(), l.address)
	}
	for i, e := range found.entries {
		if i > at && !e.read {
			nav.Next = layout.WithVia(e.ID.Path(), l.address)
			break
		}
	}
	return nav, nil
}

// markRead records that the current person has read problems.
func (s *choices) markRead(r *http.Request, ids ...crash.BucketID) error {
	b, err := s.Store.IndexWithStates(r.Context())
	if err != nil {
		return err
	}
	rules, reasons := db.NewsOf(b, s.web.Now()), map[crash.BucketID]crash.NewsReason{}
	for _, id := range ids {
		if p, ok := b.Problem(id); ok {
			if reason := rules.Reason(p); reason != "" {
				reasons[p.ID] = reason
			}
		}
	}
	return s.People.MarkRead(r.Context(), web.CurrentUser(r).ID, reasons)
}

// ReadNews marks problems as read, or as unread again.
func (s *Lists) ReadNews(w http.ResponseWriter, r *http.Request) error {
	ids, err := panel.ChosenIDs(strings.Split(r.PostFormValue("problems"), "."))
	if err != nil {
		return err
	}
	message := layout.Flash{Kind: layout.FlashDone}
	if r.FormValue("do") == "unread" {
		message.Text = crash.Counted(int64(len(ids)), "problem is", "problems are") + " to be read again."
		err = s.People.MarkUnread(r.Context(), web.CurrentUser(r).ID, ids)
	} else {
		message.Text = crash.Counted(int64(len(ids)), "problem", "problems") + " marked as read."
		message.Undo = &layout.Undo{Action: layout.PathNews + "?do=unread", Field: "problems", Value: bugsview.JoinIDs(ids)}
		err = s.choices.markRead(r, ids...)
	}
	if err != nil {
		return err
	}
	return s.web.Decided(w, r, web.ReturnPath(r), message)
}
