package db

import "time"

// SetMaxUncounted sets the number of uncounted reports above which storing waits.
func (s *Store) SetMaxUncounted(most int) {
	s.counter.mu.Lock()
	defer s.counter.mu.Unlock()
	s.counter.maxReports = most
}

// SetRoundTimeout sets the time-out of a counting round.
func (s *Store) SetRoundTimeout(d time.Duration) {
	s.counter.mu.Lock()
	defer s.counter.mu.Unlock()
	s.counter.timeout = d
}

// SetAnswerDelay sets how long the answer for a stored report waits until the report is counted.
func (s *Store) SetAnswerDelay(d time.Duration) { s.answerDelay = d }

// Names of migrations.
const (
	BaselineVersion     = baselineVersion
	BaselineFingerprint = baselineFingerprint
)

// Functions of migrations.
var (
	Fingerprint  = schemaFingerprint
	MigrateFiles = migrateFiles
)
