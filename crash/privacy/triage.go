package privacy

import (
	"slices"

	"mishap/crash"
)

// RedactManual returns a manual status as visitors see it: without persons and reasons, and without
// private data in releases and versions.
func RedactManual(m crash.ManualStatus) crash.ManualStatus {
	m.Muted, m.WontFix, m.Returned = publicEntry(m.Muted), publicEntry(m.WontFix), publicEntry(m.Returned)
	m.Hold = nil
	m.Fixes = slices.Clone(m.Fixes) // cached statuses share the slice
	for i := range m.Fixes {
		f := &m.Fixes[i]
		f.FixedIn = publicFix(f.FixedIn)
		f.AgainIn, f.AgainAt = RedactLabel(f.AgainIn), RedactLabel(f.AgainAt)
		f.By = *publicEntry(&f.By)
	}
	return m
}

func publicEntry(t *crash.Triage) *crash.Triage {
	if t == nil {
		return nil
	}
	out := crash.Triage{
		ID: t.ID, Bucket: t.Bucket, Kind: t.Kind, Until: t.Until, At: t.At, UndoneAt: t.UndoneAt, EndedAt: t.EndedAt,
		EndedWhy: RedactLabel(t.EndedWhy),
	}
	out.Until.Release, out.Until.Version = RedactLabel(out.Until.Release), RedactLabel(out.Until.Version)
	for _, f := range t.Fixes {
		out.Fixes = append(out.Fixes, publicFix(f))
	}
	return &out
}

func publicFix(f crash.FixedIn) crash.FixedIn {
	return crash.FixedIn{Release: RedactLabel(f.Release), Version: RedactLabel(f.Version)}
}
