package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/klauspost/compress/zstd"

	"mishap/crash"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/handlers/ingest"
)

// benchLength is how long each figure is measured.
const benchLength = 4 * time.Second

// benchIngest measures how many reports are accepted per second (on disk, grouped and counted) beside the same handler
// with nothing stored and beside a handler that inserts one packed body per request and transaction. All run in this
// process, one after the other, and so does what sends the reports. databaseURL names an empty, migrated database whose
// server syncs to disk and runs on this machine.
func benchIngest(ctx context.Context, databaseURL string, out io.Writer) error {
	store, err := db.Open(ctx, db.Config{URL: databaseURL, MaxConns: 16})
	if err != nil {
		return err
	}
	defer store.Close()
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	dir, err := os.MkdirTemp("", "mishap-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder

	rows, err := rowHandler(ctx, pool)
	if err != nil {
		return err
	}
	handlers := []http.Handler{rows}
	for _, s := range []intake.Store{nowhere{}, store} {
		h, err := ingest.New(ingest.Deps{Intake: intake.New(intake.Config{MaxAgeDays: 366}, s), Store: store, DataDir: dir, MaxBytes: 16 << 20})
		if err != nil {
			return err
		}
		handlers = append(handlers, h)
	}
	return compare(ctx, handlers, pool, out)
}

// nowhere takes reports and keeps none.
type nowhere struct{}

// SaveReport implements intake.Store.
func (nowhere) SaveReport(_ context.Context, rec crash.Record) (crash.OopsID, bool, error) {
	return rec.ID, false, nil
}

// rowHandler inserts each body, packed, as a row and a transaction of its own.
func rowHandler(ctx context.Context, pool *pgxpool.Pool) (http.Handler, error) {
	const table = `drop table if exists bench_rows; create table bench_rows (id uuid primary key, body bytea not null);
		alter table bench_rows alter column body set storage external`
	if _, err := pool.Exec(ctx, table); err != nil {
		return nil, err
	}
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		id := crash.NewOopsID(time.Now())
		if err == nil {
			_, err = pool.Exec(r.Context(), "insert into bench_rows values ($1, $2)", [16]byte(id), packer.EncodeAll(body, nil))
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, id.String()+" OOPSID")
	}), nil
}

// compare runs the handlers (one-row inserts, nothing stored, everything) under the same loads and prints the table.
func compare(ctx context.Context, handlers []http.Handler, pool *pgxpool.Pool, out io.Writer) error {
	meter, err := newCPUMeter(ctx, pool)
	if err != nil {
		return err
	}
	reports := newReportPool(time.Now())
	addresses := make([]string, len(handlers))
	for i, h := range handlers {
		address, stop, err := listen(ctx, h)
		if err != nil {
			return err
		}
		defer stop()
		addresses[i] = address
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join([]string{"connections", "stored", "p50 ms", "p99 ms", "CPU ms", "per core", "nothing stored", "one-row inserts", "of nothing", "of inserts"}, "\t")+"\t")
	for _, connections := range []int{1, 8, 32, 128} {
		results := make([]loadResult, len(addresses))
		for i, address := range addresses {
			before := meter.used()
			if results[i], err = reports.load(ctx, address, connections, benchLength); err != nil {
				return err
			}
			results[i].cpu = (meter.used() - before).Seconds() * 1000 / (results[i].perSecond * benchLength.Seconds())
		}
		row, bare, real := results[0], results[1], results[2]
		fmt.Fprintf(t, "%d\t%.0f/s\t%.2f\t%.2f\t%.3f\t%.0f/s\t%.0f/s\t%.0f/s\t%.2f\t%.2f\t\n", connections, real.perSecond, real.p50, real.p99,
			real.cpu, 1000/real.cpu, bare.perSecond, row.perSecond, real.perSecond/bare.perSecond, real.perSecond/row.perSecond)
	}
	return t.Flush()
}

// listen serves h on a free port of this machine until stop is called.
func listen(ctx context.Context, h http.Handler) (address string, stop func(), err error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := ingest.NewServer(h)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	return l.Addr().String(), func() { _ = server.Close(); <-done }, nil
}
