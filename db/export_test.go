package db

import (
	"time"
)

// LetUncounted changes how many reports may be stored and not counted before nothing more is stored.
func (s *Store) LetUncounted(most int) {
	s.counter.mu.Lock()
	defer s.counter.mu.Unlock()
	s.counter.most = most
}

// LetRoundsTake changes how long one round of counting may take.
func (s *Store) LetRoundsTake(d time.Duration) {
	s.counter.mu.Lock()
	defer s.counter.mu.Unlock()
	s.counter.timeout = d
}

// What tests of migrations look at.
const (
	BaselineVersion     = baselineVersion
	BaselineFingerprint = baselineFingerprint
)

var (
	Fingerprint  = schemaFingerprint
	MigrateFiles = migrateTo
)
