package gallery

import (
	"mishap/crash"
	"mishap/views/layout"
	problemsview "mishap/views/problems"
)

// triageForms returns the forms that change the manual status, in every state, and problems with
// every decision.
func triageForms() []specimen {
	form := func(kind crash.TriageKind, change func(*problemsview.TriageForm)) problemsview.TriageForm {
		p := problemsview.TriageForm{Kind: kind, Buckets: []crash.Bucket{bucket(0)}, Releases: releases, Back: "/"}
		if kind == crash.TriageFixed {
			for _, r := range append([]crash.Release{""}, releases...) {
				p.Values.Fixes = append(p.Values.Fixes, problemsview.FixRow{FixedIn: crash.FixedIn{Release: r},
					Hint: "46.5-0ubuntu1"})
			}
		}
		if change != nil {
			change(&p)
		}
		p.Shell = shell(p.Heading(), admin)
		return p
	}
	chosen := func(p *problemsview.TriageForm) {
		other := bucket(1)
		other.SourcePackage, other.Package = "quillpad", "quillpad"
		p.Buckets, p.Chosen = append(p.Buckets, other), true
	}
	muted := crash.Triage{ID: 1, Kind: crash.TriageMuted, Person: "grace", Reason: "waits for upstream",
		At: now.AddDate(0, 0, -3), Until: crash.MuteUntil{Machines: 50, Days: 7}}
	return []specimen{
		{"Mute", problemsview.TriagePage(form(crash.TriageMuted, nil))},
		{"Mute, muted already, mistake", problemsview.TriagePage(form(crash.TriageMuted, func(p *problemsview.TriageForm) {
			p.Replaces, p.Regressed = &muted, true
			p.Values = problemsview.TriageValues{Reports: "many", Release: string(releases[0]), Reason: "x"}
			p.Problem = "More reports: “many” is not a number."
		}))},
		{"Mute several", problemsview.TriagePage(form(crash.TriageMuted, chosen))},
		{"Won’t fix", problemsview.TriagePage(form(crash.TriageWontFix, nil))},
		{"Won’t fix several", problemsview.TriagePage(form(crash.TriageWontFix, chosen))},
		{"Fixed in", problemsview.TriagePage(form(crash.TriageFixed, nil))},
		{"Fixed in, several packages, mistake", problemsview.TriagePage(form(crash.TriageFixed,
			func(p *problemsview.TriageForm) {
				chosen(p)
				p.Values.Fixes[0].Version, p.Problem = "next one", "“next one” is not a version."
			}))},
		{"Embargo", problemsview.EmbargoPage(embargoForm(func(*problemsview.EmbargoForm) {}))},
		{"Embargo, not seen afterwards, mistake", problemsview.EmbargoPage(embargoForm(func(p *problemsview.EmbargoForm) {
			p.Sees, p.Problem = false, "A reason can have at most 500 characters."
		}))},
		{"Embargo, lift", problemsview.EmbargoPage(embargoForm(func(p *problemsview.EmbargoForm) {
			p.Embargo = &crash.Embargo{ID: 1, Bucket: p.Bucket.ID, Person: "grace", Reason: "double free", At: now}
		}))},
		{"Problem, every decision", problemsview.Problem(manual(admin, muted))},
		{"Problem, every decision, for viewers", problemsview.Problem(manual(viewer, muted))},
		{"Problem, every decision, for visitors", problemsview.Problem(manual(visitor, muted))},
	}
}

func embargoForm(change func(*problemsview.EmbargoForm)) problemsview.EmbargoForm {
	p := problemsview.EmbargoForm{MarkForm: problemsview.MarkForm{Bucket: bucket(0), Now: now, CSRFToken: "token"},
		Sees:    true,
		Tracker: "Launchpad"}
	change(&p)
	p.Shell = shell(p.Heading(), admin)
	return p
}

// manual returns the page of a problem with every kind of decision.
func manual(user crash.User, muted crash.Triage) problemsview.ProblemPage {
	page := problem(user)
	wontFix := crash.Triage{ID: 2, Kind: crash.TriageWontFix, Person: "ada", At: now.AddDate(0, 0, -2),
		Reason: "hardware of one person"}
	fixed := crash.Triage{ID: 3, Kind: crash.TriageFixed, Person: "ada", At: now.AddDate(0, 0, -1)}
	page.Status.Manual = problemsview.ManualView{Bucket: page.Bucket.ID, SignedIn: user.ID != 0, Now: now,
		CSRFToken: "token",
		MayDecide: user.Role.Allows(crash.RoleTriager), Status: crash.ManualStatus{Muted: &muted, WontFix: &wontFix,
			Embargo: &crash.Embargo{ID: 1, Bucket: page.Bucket.ID, Person: "grace", Reason: "double free", At: now},
			Fixes: []crash.ManualFix{{FixedIn: crash.FixedIn{Release: releases[1], Version: "46.3-1"}, By: fixed, Again: 3,
				AgainIn: releases[1], AgainAt: "46.3-1"}, {FixedIn: crash.FixedIn{Version: "46.4-1"}, By: fixed}}}}
	page.Shell.Flash = []layout.Flash{{Kind: layout.FlashDone, Text: "muted",
		Undo: problemsview.UndoTriage([]crash.Triage{muted})}}
	return page
}
