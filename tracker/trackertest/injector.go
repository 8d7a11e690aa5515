package trackertest

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"
)

// injector makes requests fail. It is safe for concurrent use.
type injector struct {
	hung      hungCalls
	closing   chan struct{} // closed by Close
	closeOnce sync.Once

	mu     sync.Mutex
	faults []FaultSpec
}

// Close ends the requests that hang.
func (i *injector) Close() { i.closeOnce.Do(func() { close(i.closing) }) }

// Fault makes the next requests for an operation fail. Several faults for one operation apply in
// order.
func (i *injector) Fault(spec FaultSpec) error {
	if !slices.Contains(Faults(), spec.Fault) {
		return errors.New("there is no fault " + string(spec.Fault))
	}
	spec.Times = max(spec.Times, 1)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.faults = append(i.faults, spec)
	return nil
}

// ClearFaults removes all faults.
func (i *injector) ClearFaults() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.faults = nil
}

func (i *injector) take(op Operation) (FaultSpec, bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	at := slices.IndexFunc(i.faults, func(f FaultSpec) bool { return f.Operation == op })
	if at < 0 {
		return FaultSpec{}, false
	}
	spec := i.faults[at]
	if i.faults[at].Times--; i.faults[at].Times <= 0 {
		i.faults = slices.Delete(i.faults, at, at+1)
	}
	return spec, true
}

// fail answers one request with a fault.
func (i *injector) fail(w http.ResponseWriter, r *http.Request, spec FaultSpec, work func() response) {
	if answer, ok := before[spec.Fault]; ok {
		answer.write(w)
		return
	}
	f := spec.Fault
	if f == DropBefore {
		drop(w, "")
		return
	}
	if f == HangBefore {
		i.hang(r)
	}
	if f == LateWork {
		i.outwait(r)
	}
	if f == Slow {
		i.wait(spec)
	}
	answer := work()
	if f == HangAfter || f == LateWork {
		i.hang(r)
	}
	if f == DropAfter {
		drop(w, "")
		return
	}
	if f == Truncated {
		drop(w, truncated(answer))
		return
	}
	if spoil := spoilers[f]; spoil != nil {
		answer = spoil(answer)
	}
	answer.write(w)
}

// hang blocks until the caller gives up or the tracker ends. It panics, so that there is no answer.
func (i *injector) hang(r *http.Request) {
	i.outwait(r)
	panic(http.ErrAbortHandler) // the server closes the connection without an answer
}

// outwait blocks until the caller gives up or the tracker closes.
func (i *injector) outwait(r *http.Request) {
	i.hung.announce(r.Header.Get(callHeader))
	select {
	case <-r.Context().Done():
	case <-i.closing:
	}
}

// wait delays a slow answer, even after its caller has given up.
func (i *injector) wait(spec FaultSpec) {
	var after <-chan time.Time
	if spec.Hold == nil {
		timer := time.NewTimer(spec.Delay)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
	case <-spec.Hold:
	case <-i.closing:
	}
}

// drop closes the connection after some raw bytes.
func drop(w http.ResponseWriter, raw string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = conn.Write([]byte(raw)) // the connection is closed next anyway
	_ = conn.Close()
}

const controlPath = "/+practice/faults"

// control sets faults over HTTP: POST adds one as JSON, DELETE removes all, and GET lists those set
// and all kinds.
func (i *injector) control(w http.ResponseWriter, r *http.Request, c *call) {
	switch r.Method {
	case http.MethodPost:
		var asked controlSpec
		var spec FaultSpec
		err := json.Unmarshal(c.body, &asked)
		if err == nil {
			spec, err = asked.spec()
		}
		if err == nil {
			err = i.Fault(spec)
		}
		if err != nil {
			text(400, err.Error()+"\n").write(w)
			return
		}
	case http.MethodDelete:
		i.ClearFaults()
	case http.MethodGet:
	default:
		text(405, "").with("Allow", "GET, POST, DELETE").write(w)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	set := []controlSpec{}
	for _, f := range i.faults {
		set = append(set, controlSpec{f.Operation, f.Fault, f.Times, f.Delay.String()})
	}
	b, _ := json.Marshal(map[string]any{"faults": set, "known": Faults()}) // plain values cannot fail
	text(200, string(b)+"\n").with("Content-Type", "application/json").write(w)
}

// controlSpec is the JSON form of a FaultSpec.
type controlSpec struct {
	Operation Operation `json:"operation"`
	Fault     Fault     `json:"fault"`
	Times     int       `json:"times"`
	Delay     string    `json:"delay"` // "2s"
}

func (c controlSpec) spec() (FaultSpec, error) {
	spec := FaultSpec{Operation: c.Operation, Fault: c.Fault, Times: c.Times}
	if c.Delay == "" {
		return spec, nil
	}
	var err error
	spec.Delay, err = time.ParseDuration(c.Delay)
	return spec, err
}
