package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"mishap/crash"
)

const maxSending = 16

const storeTimeout = 30 * time.Second

// Store stores deliveries. Its errors of kind Conflict mean that another instance has taken over.
type Store interface {
	// ReleaseDeliveries makes the deliveries due again that dead instances have claimed.
	ReleaseDeliveries(context.Context) error
	// ClaimDelivery claims the next delivery that is due. It returns false if there is none.
	ClaimDelivery(context.Context) (crash.DeliveryClaim, bool, error)
	// SavePayload stores the payload of the first attempt, and returns the one to send.
	SavePayload(ctx context.Context, claim crash.DeliveryClaim, payload string) (string, error)
	// FinishDelivery stores the outcome of an attempt and ends the claim.
	FinishDelivery(context.Context, crash.DeliveryClaim, crash.DeliveryOutcome) error
}

// Worker sends stored deliveries. Several instances may do so at the same time: each endpoint gets one
// request at a time. Slow endpoints do not delay others, as long as there are fewer than maxSending.
type Worker struct {
	store    Store
	client   *Client
	log      *slog.Logger
	attempts *prometheus.CounterVec

	slots   chan struct{} // one for each request in progress
	quit    chan struct{} // closed to interrupt requests
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// NewWorker returns a Worker. Without a registerer there are no metrics.
func NewWorker(store Store, client *Client, log *slog.Logger, metrics prometheus.Registerer) (*Worker, error) {
	w := &Worker{
		store: store, client: client, log: log, slots: make(chan struct{}, maxSending), quit: make(chan struct{}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mishap_delivery_attempts_total",
			Help: "Attempts of this instance to deliver events to endpoints, by kind of endpoint and outcome.",
		}, []string{"kind", "outcome"}),
	}
	for _, kind := range crash.EndpointKinds {
		w.attempts.WithLabelValues(string(kind), "delivered") // starts at 0, so that rates see the first one
		w.attempts.WithLabelValues(string(kind), "failed")
	}
	if metrics == nil {
		return w, nil
	}
	if err := metrics.Register(w.attempts); err != nil {
		return nil, fmt.Errorf("metrics of deliveries: %w", err)
	}
	return w, nil
}

// Round starts to send everything that is due, and does not wait for the answers. Call it every few
// seconds.
func (w *Worker) Round(ctx context.Context) error {
	if err := w.store.ReleaseDeliveries(ctx); err != nil {
		return err
	}
	for {
		select {
		case w.slots <- struct{}{}:
		default:
			return nil
		}
		claim, ok, err := w.claim(ctx)
		if err != nil || !ok {
			<-w.slots
			return err
		}
		go func() {
			defer w.running.Done()
			defer func() { <-w.slots }()
			w.work(ctx, claim)
		}()
	}
}

// claim claims a delivery and counts it as running, unless the worker was closed.
func (w *Worker) claim(ctx context.Context) (claim crash.DeliveryClaim, ok bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return claim, false, nil
	}
	if claim, ok, err = w.store.ClaimDelivery(ctx); ok {
		w.running.Add(1)
	}
	return claim, ok, err
}

// work sends a delivery, and then others as long as some are due.
func (w *Worker) work(ctx context.Context, claim crash.DeliveryClaim) {
	defer func() {
		if p := recover(); p != nil {
			w.log.ErrorContext(ctx, "sending a delivery failed", "delivery", claim.ID, "panic", p,
				"stack", string(debug.Stack()))
		}
	}()
	for {
		if err := w.deliver(ctx, claim); err != nil && !errors.Is(err, crash.Conflict) {
			w.log.WarnContext(ctx, "a delivery will be sent again", "delivery", claim.ID, "endpoint", claim.To.Name,
				"error", err)
			return
		}
		next, ok, err := w.claim(ctx)
		if err != nil || !ok {
			return // the next round reports an error
		}
		w.running.Done() // of the previous delivery
		claim = next
	}
}

func (w *Worker) deliver(ctx context.Context, claim crash.DeliveryClaim) error {
	payload := claim.Payload
	if payload == "" {
		var err error
		if payload, err = w.store.SavePayload(ctx, claim, w.client.Payload(claim)); err != nil {
			return err
		}
	}
	reply, interrupted := w.send(ctx, claim, payload)
	outcome := Judge(claim.To, claim.Attempts, reply, w.client.config.Now())
	if interrupted && outcome.State != crash.DeliveryDelivered {
		outcome = crash.DeliveryOutcome{Interrupted: true, Problem: "mishap was stopped during the request, " +
			"and sends it again with the same id."}
	}
	w.attempts.WithLabelValues(string(claim.To.Kind), outcomeName(outcome)).Inc()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	return w.store.FinishDelivery(ctx, claim, outcome)
}

func (w *Worker) send(ctx context.Context, claim crash.DeliveryClaim, payload string) (reply Reply, interrupted bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan Reply, 1)
	go func() { answered <- w.client.Send(ctx, claim.To, claim.ID, claim.Resent, payload) }()
	select {
	case reply := <-answered:
		return reply, ctx.Err() != nil
	case <-w.quit:
		cancel()
		return <-answered, true
	}
}

func outcomeName(o crash.DeliveryOutcome) string {
	switch {
	case o.Interrupted:
		return "interrupted"
	case o.State == crash.DeliveryDelivered:
		return "delivered"
	case o.Off != "":
		return "switched_off"
	}
	return "failed"
}

// Wait waits until no request is in progress.
func (w *Worker) Wait() { w.running.Wait() }

// Close claims nothing more and waits for requests in progress. It interrupts them when ctx ends; they
// are sent again later.
func (w *Worker) Close(ctx context.Context) {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	w.mu.Unlock()
	done := make(chan struct{})
	go func() {
		w.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		close(w.quit)
		<-done
	}
}
