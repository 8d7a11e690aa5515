package db

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"mishap/crash"
	"mishap/crash/index"
	"mishap/crash/stats"
)

// Week says what happened to some problems in seven UTC days. Everything follows from the days of the reports, from
// when decisions were made and from when the tracker closed bugs; links between bugs and problems, merges and mutes are
// those of now, and so are the undecided problems.
type Week struct {
	First, Last time.Time // UTC days, both included
	Reports     int64
	Before      int64 // reports in the seven days before
	Problems    int64 // with these reports
	Muted       int64 // problems that are not in the lists because they are muted
	Days        []crash.DayCount

	New       []WeekEntry // first seen; most reports first
	Risen     []WeekEntry // clearly more reports than in the week before; see [stats.Rising]
	Fixed     []WeekEntry // fixed or probably fixed at the end, and not before the week
	CameBack  []WeekEntry // seen again after a fix at the end, and not before the week
	Undecided []WeekEntry // now without a bug, an assignee or a decision; oldest first
}

// WeekEntry is a problem in a list of a week.
type WeekEntry struct {
	*index.Problem
	Reports int64  // in the week
	Before  int64  // in the seven days before
	Text    string // what happened, without private data; empty: the list says it
}

// List returns one of the lists.
func (w Week) List(part crash.WeeklyPart) []WeekEntry {
	switch part {
	case crash.WeeklyBack:
		return w.CameBack
	case crash.WeeklyNew:
		return w.New
	case crash.WeeklyRisen:
		return w.Risen
	case crash.WeeklyFixed:
		return w.Fixed
	case crash.WeeklyUndecided:
	}
	return w.Undecided
}

// Headline sums up the lists: "2 came back, 12 new".
func (w Week) Headline() string {
	return crash.WeeklyHeadline(func(p crash.WeeklyPart) int { return len(w.List(p)) })
}

// Empty reports whether nothing happened. Problems that are merely undecided do not count.
func (w Week) Empty() bool { return len(w.New)+len(w.Risen)+len(w.Fixed)+len(w.CameBack) == 0 }

// WeekChartDays is the number of days of the chart of a week.
const WeekChartDays = 8 * 7

// Week returns what happened to the matching problems in the seven days from first. ix must be an index that
// IndexWithStates has returned.
func (s *Store) Week(ctx context.Context, ix *index.Index, match func(*index.Problem) bool, first time.Time) (Week,
	error) {
	w := Week{First: crash.Midnight(first), Last: crash.Midnight(first).AddDate(0, 0, crash.PeriodWeek.Days()-1)}
	begin, end := index.DayOf(w.First), index.DayOf(w.Last)
	before, then, err := s.judgingOf(ctx, ix, begin-1, end)
	if err != nil {
		return w, err
	}
	days := map[crash.Release][]int64{}
	rising, news := ix.Rising(end), NewsOf(ix, s.Now())
	since := end - WeekChartDays + 1
	for _, p := range ix.Select(func(p *index.Problem) bool { return p.Reports > 0 && match(p) }) {
		e := WeekEntry{Problem: p}
		for release, counts := range ix.ReleaseDays(p.ID, since, end) {
			sum := days[release]
			if sum == nil {
				sum = make([]int64, WeekChartDays)
				days[release] = sum
			}
			for i, n := range counts {
				sum[i] += n
				switch {
				case i >= WeekChartDays-7:
					e.Reports += n
				case i >= WeekChartDays-14:
					e.Before += n
				}
			}
		}
		w.Reports, w.Before = w.Reports+e.Reports, w.Before+e.Before
		if e.Reports > 0 {
			w.Problems++
		}
		_, rises := rising[p.ID]
		w.add(e, rises, news.Reason(p) == crash.NewsUndecided, before, then)
	}
	for release, counts := range days {
		for i, n := range counts {
			if n > 0 {
				w.Days = append(w.Days, crash.DayCount{Day: w.Last.AddDate(0, 0, i+1-WeekChartDays), Release: release, Reports: n})
			}
		}
	}
	slices.SortFunc(w.Days, func(a, b crash.DayCount) int {
		return cmp.Or(a.Day.Compare(b.Day), a.Release.Compare(b.Release))
	})
	w.sort()
	return w, nil
}

// judgingOf returns what judges problems as of the ends of two days.
func (s *Store) judgingOf(ctx context.Context, ix *index.Index, before, then index.Day) (judging, judging, error) {
	st := &statuses{ix: ix}
	if judged := s.indexCache.states.Load(); judged != nil {
		st.bugs = judged.bugs
	}
	if err := s.readPublic(ctx, st); err != nil {
		return judging{}, judging{}, err
	}
	asOf := func(day index.Day) judging {
		end := day.Time().AddDate(0, 0, 1).Add(-time.Second)
		if now := s.Now(); now.Before(end) {
			end = now
		}
		j := st.judging(end)
		j.until = day
		return j
	}
	return asOf(before), asOf(then), nil
}

// as returns the status and the manual status of a problem as of the end of a day, and the names of the releases in
// which its fix is confirmed.
func (j judging) as(p *index.Problem) (crash.Status, crash.ManualStatus, map[string]stats.FixWatch) {
	b := j.facts(p)
	b.Bug = stats.BugAsOf(b.Bug, j.now)
	b.Status = j.bucket(b, p)
	var manual crash.ManualStatus
	if p.Triage != nil && len(p.Triage.Fixes) > 0 {
		marks := crash.Pick(p.Triage.Fixes, func(m crash.Mark) bool { return !m.At.After(j.now) })
		manual = stats.JudgeManual(marks, j.ix.OccurrencesUntil(p, j.until), j.now)
	}
	works := map[string]stats.FixWatch{}
	for _, w := range j.watch(b, p, manual) {
		if w.Verdict == stats.FixWorks {
			works[string(w.Release)+" "+w.Name()] = w
		}
	}
	return b.Status, manual, works
}

// isFixed reports whether a status says that the problem is fixed or probably fixed, in releases in which it was seen.
func isFixed(s crash.Status) bool {
	return len(s.Counting()) > 0 &&
		(s.Word == crash.StateFixed || s.Word == crash.StateGone || s.Word == crash.StateDisappeared)
}

// add adds a problem to the lists to which it belongs.
func (w *Week) add(e WeekEntry, rises, undecided bool, before, then judging) {
	p := e.Problem
	isNew := !p.First().At.Before(w.First) && p.First().At.Before(w.Last.AddDate(0, 0, 1))
	fixed, back := w.changes(p, before, then)
	if p.Triage != nil && p.Triage.Muted {
		if isNew || rises || fixed != "" || back != "" {
			w.Muted++
		}
		return
	}
	if isNew {
		w.New = append(w.New, e)
	}
	if rises {
		w.Risen = append(w.Risen, e)
	}
	if undecided {
		w.Undecided = append(w.Undecided, e)
	}
	if fixed != "" {
		e.Text = fixed
		w.Fixed = append(w.Fixed, e)
	}
	if back != "" {
		e.Text = back
		w.CameBack = append(w.CameBack, e)
	}
}

// changes returns why a problem counts as fixed, and why as seen again, since the beginning of the week.
func (w *Week) changes(p *index.Problem, before, then judging) (fixed, back string) {
	if p.Provisional {
		return "", ""
	}
	is, manual, works := then.as(p)
	if !isFixed(is) && is.Word != crash.StateRegression && manual.Empty() && len(works) == 0 {
		return "", "" // most problems
	}
	was, manualBefore, worked := before.as(p)
	var said []string
	again := is.Word == crash.StateRegression || manual.SeenAgain()
	if isFixed(is) && !isFixed(was) && !again {
		said = append(said, is.Headline()+".")
	}
	for _, f := range manual.Fixes {
		if f.Again == 0 && !f.By.At.Before(w.First) {
			said = append(said, f.Text(false)+".")
		}
	}
	for name, fix := range works {
		if _, known := worked[name]; !known {
			said = append(said, fix.Short())
		}
	}
	slices.Sort(said)
	fixed = strings.Join(slices.Compact(said), " ")
	switch {
	case is.Word == crash.StateRegression && was.Word != crash.StateRegression:
		back = is.Headline() + "."
	case manual.SeenAgain() && !manualBefore.SeenAgain():
		i := slices.IndexFunc(manual.Fixes, func(f crash.ManualFix) bool { return f.Again > 0 })
		back = manual.Fixes[i].Text(false) + "."
	}
	return fixed, back
}

func (w *Week) sort() {
	most := func(a, b WeekEntry) int {
		return cmp.Or(cmp.Compare(b.Reports, a.Reports), a.First().At.Compare(b.First().At))
	}
	for _, list := range [][]WeekEntry{w.New, w.Risen, w.Fixed, w.CameBack} {
		slices.SortStableFunc(list, most)
	}
	slices.SortStableFunc(w.Undecided, func(a, b WeekEntry) int { return a.First().At.Compare(b.First().At) })
}

// News says for which reason a problem is in the list of what is new.
type News struct {
	index  *index.Index
	today  index.Day
	week   time.Time // the past week begins
	Rising map[crash.BucketID]stats.Rise
}

// NewsOf returns what says so about an index with states.
func NewsOf(ix *index.Index, now time.Time) News {
	today := index.DayOf(now)
	week, _ := crash.LastDays(now, crash.PeriodWeek.Days())
	return News{ix, today, week, ix.Rising(today)}
}

// Reason returns why a problem is in the list, or "". What somebody has decided is not, except when it is seen in a
// version with the fix.
func (n News) Reason(p *index.Problem) crash.NewsReason {
	_, rising := n.Rising[p.ID]
	switch {
	case p.Triage != nil && p.Triage.Muted:
		return ""
	case p.State == crash.StateRegression, ManualOf(n.index, p, n.today).SeenAgain():
		return crash.NewsAgain
	case p.Triage != nil && (p.Triage.WontFix || len(p.Triage.Fixes) > 0), p.Assignee().Name != "":
		return ""
	case !p.First().At.Before(n.week):
		return crash.NewsNew
	case rising:
		return crash.NewsRising
	case p.State == crash.StateUnfiled:
		return crash.NewsUndecided
	}
	return ""
}
