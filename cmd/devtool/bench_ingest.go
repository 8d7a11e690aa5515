package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"mishap/crash"
	"mishap/crash/intake"
	"mishap/db"
	"mishap/handlers/ingest"
)

// benchIngest measures how many reports are accepted per second (on disk, grouped and counted) beside the same handler
// with nothing stored, beside the same handler that stores the least, in a transaction for each report or in shared ones, and
// beside a handler that does nothing but insert one packed body per request and transaction. All five are served by this
// process, in turns, and a process of its own sends the reports. databaseURL names a migrated database whose server syncs to
// disk and runs on this machine.
func benchIngest(ctx context.Context, databaseURL string, out io.Writer) error {
	store, err := db.Open(ctx, db.Config{URL: databaseURL, MaxConns: 16})
	if err != nil {
		return err
	}
	defer store.Close()
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return err
	}
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(ctx, config)
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
	if _, err := pool.Exec(ctx, leastTables); err != nil {
		return err
	}
	writing, end := context.WithCancel(ctx)
	defer end()
	handlers := [variants]http.Handler{inserts: rows}
	for i, s := range map[variant]intake.Store{nothing: nowhere{}, transactions: apart{pool}, shared: startTogether(writing, pool), everything: store} {
		h, err := ingest.New(ingest.Deps{Intake: intake.New(intake.Config{MaxAgeDays: 366}, s), Store: store, DataDir: dir, MaxBytes: 16 << 20})
		if err != nil {
			return err
		}
		handlers[i] = h
	}
	c := comparison{store: store, pool: pool, out: out}
	if c.meter, err = newCPUMeter(ctx, pool); err != nil {
		return err
	}
	if c.sender, err = startSender(ctx); err != nil {
		return err
	}
	defer c.sender.stop()
	for i, h := range handlers {
		address, stop, err := listen(ctx, h)
		if err != nil {
			return err
		}
		defer stop()
		c.addresses[i] = address
	}
	return c.run(ctx)
}

// nowhere takes reports and keeps none.
type nowhere struct{}

// SaveReport implements intake.Store.
func (nowhere) SaveReport(_ context.Context, rec crash.Record) (crash.OopsID, bool, error) {
	return rec.ID, false, nil
}

// rowHandler inserts each body, packed as it is for the store, as a row and a transaction of its own.
func rowHandler(ctx context.Context, pool *pgxpool.Pool) (http.Handler, error) {
	const table = `drop table if exists bench_rows; create table bench_rows (id uuid primary key, body bytea not null);
		alter table bench_rows alter column body set storage external`
	if _, err := pool.Exec(ctx, table); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := takePacker()
		defer packers.Put(p)
		_, err := p.plain.ReadFrom(r.Body)
		id := crash.NewOopsID(time.Now())
		if err == nil {
			_, err = pool.Exec(r.Context(), "insert into bench_rows values ($1, $2)", [16]byte(id), p.pack())
		}
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, id.String()+" OOPSID")
	}), nil
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
