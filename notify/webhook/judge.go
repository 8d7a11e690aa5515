package webhook

import (
	"fmt"
	"net/http"
	"time"

	"mishap/crash"
)

// schedule lists the delay of each attempt after the previous one, as Standard Webhooks recommends. It
// lasts for three days and a few hours.
var schedule = []time.Duration{
	0, 5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour,
	14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
}

const (
	maxRetryAfter = 24 * time.Hour
	chatInterval  = time.Second      // Slack accepts about one message per second and channel
	firstPause    = 5 * time.Second  // of an endpoint after a failure; it doubles with each further one
	throttlePause = 30 * time.Second // of an endpoint that is overloaded and does not say for how long
	maxPause      = 5 * time.Minute
)

// Judge returns what follows from the answer to an attempt. failed is the number of attempts of the
// delivery that have failed before. An endpoint that fails pauses for all its deliveries, so that it is
// not flooded when it works again.
func Judge(to crash.Endpoint, failed int, reply Reply, now time.Time) crash.DeliveryOutcome {
	o := crash.DeliveryOutcome{Status: reply.Status, Answer: reply.Answer, Problem: reply.Problem}
	if reply.Problem == "" {
		o.State = crash.DeliveryDelivered
		if to.Kind != crash.EndpointWebhook {
			o.Pause = now.Add(chatInterval)
		}
		return o
	}
	pause := min(firstPause<<min(to.Failures, 10), maxPause)
	switch reply.Status {
	case http.StatusGone:
		o.State, o.Off = crash.DeliveryFailed, "It answered 410 Gone, which means that it wants no more events."
		return o
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		pause = max(pause, throttlePause)
	}
	o.Pause = now.Add(max(pause, reply.RetryAfter))
	if failed+1 >= len(schedule) {
		last := "did not answer"
		if reply.Status != 0 {
			last = fmt.Sprintf("answered %d", reply.Status)
		}
		o.State = crash.DeliveryFailed
		o.Off = fmt.Sprintf("All %d attempts to deliver an event failed; at the last one it %s.", len(schedule), last)
		return o
	}
	o.State, o.Due = crash.DeliveryWaiting, now.Add(max(schedule[failed+1], reply.RetryAfter))
	return o
}
