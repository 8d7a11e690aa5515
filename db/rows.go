package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"mishap/crash"
)

// Querier is a pool, a connection or a transaction.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// InTx runs fn in a transaction. It commits if fn returns nil, and otherwise rolls back.
func (h *Handle) InTx(ctx context.Context, fn func(pgx.Tx) error) error {
	return Classify(pgx.BeginFunc(ctx, h.Pool, fn))
}

// Exec runs statements with the same arguments, one after the other.
func Exec(ctx context.Context, q Querier, args pgx.NamedArgs, statements ...string) error {
	for _, sql := range statements {
		if _, err := q.Exec(ctx, sql, args); err != nil {
			return Classify(err)
		}
	}
	return nil
}

func query(ctx context.Context, q Querier, sql string, args pgx.NamedArgs) (pgx.Rows, error) {
	if args == nil {
		return q.Query(ctx, sql)
	}
	return q.Query(ctx, sql, args)
}

// List returns the rows of a statement, each as scan reads it.
func List[T any](ctx context.Context, q Querier, sql string, args pgx.NamedArgs, scan pgx.RowToFunc[T]) ([]T, error) {
	rows, err := query(ctx, q, sql, args)
	if err != nil {
		return nil, Classify(err)
	}
	all, err := pgx.CollectRows(rows, scan)
	return all, Classify(err)
}

// One returns the only row of a statement. It returns [pgx.ErrNoRows] if there is none.
func One[T any](ctx context.Context, q Querier, sql string, args pgx.NamedArgs, scan pgx.RowToFunc[T]) (T, error) {
	rows, err := query(ctx, q, sql, args)
	if err != nil {
		var none T
		return none, Classify(err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, scan)
	return row, Classify(err)
}

// Each reads the rows of a statement into the same variables, and calls do for each.
func Each(ctx context.Context, q Querier, sql string, args pgx.NamedArgs, into []any, do func()) error {
	rows, err := query(ctx, q, sql, args)
	if err != nil {
		return Classify(err)
	}
	_, err = pgx.ForEachRow(rows, into, func() error { do(); return nil })
	return Classify(err)
}

// Wrap says what failed, and gives err its kind (see Classify). It returns nil if err is nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), Classify(err))
}

// NoRows returns err, or none if err says that a statement has returned no row; none may be nil.
func NoRows(err, none error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return none
	}
	return err
}

// WrapOr is like [Wrap], but returns none if err says that a statement has returned no row; none may be nil.
func WrapOr(err, none error, format string, args ...any) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return none
	}
	return Wrap(err, format, args...)
}

// Into returns a function for [List] and [One] that scans a row to the places that of returns.
func Into[T any](of func(*T) []any) pgx.RowToFunc[T] {
	return func(row pgx.CollectableRow) (value T, err error) {
		err = row.Scan(of(&value)...)
		return value, err
	}
}

// scanIDs reads the ids of two buckets.
func scanIDs(row pgx.CollectableRow) (ids [2]crash.BucketID, err error) {
	err = row.Scan(&ids[0], &ids[1])
	return ids, err
}

// ScanReportID reads the id of a report.
func ScanReportID(row pgx.CollectableRow) (id crash.OopsID, err error) {
	err = row.Scan((*[16]byte)(&id))
	return id, err
}
