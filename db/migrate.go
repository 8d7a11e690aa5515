package db

import (
	"context"
	"log/slog"

	"mishap/db/schema"
	"mishap/migrations"
)

// Migrate updates the schema: first our own tables, then those of the job queue. Several instances
// may call it at once: one migrates, and the others wait. It returns Conflict if the database is
// newer than this program or was made by other migrations. It returns Invalid if the server is too
// old, and Unavailable if it cannot be reached or a table stays locked.
func Migrate(ctx context.Context, url string, log *slog.Logger) error {
	return Classify(schema.Migrate(ctx, url, log, migrations.Files, false))
}

// MigrateRestored does the same with a database whose restore from a backup has not finished, which
// Migrate refuses.
func MigrateRestored(ctx context.Context, url string, log *slog.Logger) error {
	return Classify(schema.Migrate(ctx, url, log, migrations.Files, true))
}
