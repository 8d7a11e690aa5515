package gallery

import (
	"mishap/crash"
	"mishap/crash/stats"
	problemsview "mishap/views/problems"
)

// gates returns the specimens of the update gate.
func gates() []specimen {
	page := func(in *stats.GateInput) problemsview.GatePage {
		q := stats.GateQuestion{Package: "tidewatch", Version: "46.4-0ubuntu2"}
		p := problemsview.GatePage{Shell: shell("Update gate", visitor), Releases: releases}
		if in == nil {
			return p
		}
		p.Question = q
		r := stats.AssessGate(*in)
		p.Answer = &stats.GateAnswer{GateQuestion: q, Verdict: r.Verdict, Results: []stats.GateResult{r},
			Buckets: map[crash.BucketID]crash.Bucket{bucket(0).ID: bucket(0), bucket(1).ID: bucket(1)}}
		return p
	}
	unknown := page(nil)
	unknown.Question = stats.GateQuestion{Package: "tidewatch", Version: "99"}
	unknown.Answer = &stats.GateAnswer{GateQuestion: unknown.Question, Verdict: stats.GateNotEnough,
		Known: []string{"46.4-0ubuntu2", "46.3-1"}}
	problem := page(nil)
	problem.Problem = "46.4 is not lower than 46.3: the gate compares a version with a lower one."
	return []specimen{
		{"Update gate, empty", problemsview.Gate(page(nil))},
		{"Update gate, wrong question", problemsview.Gate(problem)},
		{"Update gate, unknown version", problemsview.Gate(unknown)},
		{"Update gate, not enough data", problemsview.Gate(page(gateInput(3, 4)))},
		{"Update gate, pass", problemsview.Gate(page(gateInput(21, 4)))},
		{"Update gate, worse", problemsview.Gate(page(gateInput(21, 12)))},
	}
}

// gateInput returns the counts of an update that arrived some days ago, with the given number of
// reports a day since then.
func gateInput(days int, reports int64) *stats.GateInput {
	today := crash.Midnight(now)
	arrived := today.AddDate(0, 0, 1-days)
	in := &stats.GateInput{
		GatePlan: stats.GatePlan{Release: releases[0], Version: "46.4-0ubuntu2", Against: "46.3-0ubuntu1",
			Choice: stats.ChoicePrevious,
			Before: stats.Window{Since: arrived.AddDate(0, 0, -40), Until: arrived.AddDate(0, 0, -1)},
			After:  stats.Window{Since: arrived, Until: today}, BeforeIn: 40, AfterIn: days},
		New: stats.Clusters{Machines: 30, Reports: 40, Squares: 60}, Old: stats.Clusters{Machines: 90, Reports: 120,
			Squares: 200},
		Problems: []stats.GateProblem{
			{ID: bucket(0).ID, After: 3 * reports, Machines: 3,
				Clusters: stats.Clusters{Machines: 3, Reports: 30, Squares: 402}},
			{ID: bucket(1).ID, Before: 9, After: 10 * reports, History: 9, Lower: true, Machines: 40,
				Clusters: stats.Clusters{Machines: 60, Reports: 100, Squares: 120}},
			{ID: bucket(2).ID, After: 4, Machines: 4, Nameless: true},
		},
	}
	in.History = in.Before
	for day := in.Before.Since; !day.After(today); day = day.AddDate(0, 0, 1) {
		d := stats.GateDay{Day: day, Machines: 1000, Reports: 4, Old: 4}
		if !day.Before(arrived) {
			d.Reports, d.New, d.Old = reports, reports, 0
		}
		in.Days = append(in.Days, d)
	}
	return in
}
