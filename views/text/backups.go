package text

import (
	"fmt"
	"time"

	"mishap/crash"
)

// Texts about backups.
const (
	BackupHealth  = "Backups"
	BackupUnknown = "It is not known when the last backup was made."
	BackupNone    = "No backup was made with “mishap backup” yet."
	BackupOverdue = "The last backup is older than three days."
)

// BackupLast describes the last backup.
func BackupLast(b crash.Backup, now time.Time) string {
	hours := int64(now.Sub(b.Taken).Hours())
	age := Counted(hours, "hour", "hours")
	if hours >= 48 {
		age = Counted(hours/24, "day", "days")
	}
	return fmt.Sprintf("Last taken %s ago (%s): %s, %.1f MiB, in %s", age, b.Taken.UTC().Format("2006-01-02 15:04 UTC"),
		Counted(b.Reports, "report", "reports"), float64(b.Bytes)/(1<<20), b.Place)
}
