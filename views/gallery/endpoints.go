package gallery

import (
	"time"

	"mishap/crash"
	eventsview "mishap/views/events"
)

// endpoints returns the list with endpoints in every state.
func endpoints() eventsview.EndpointsPage {
	return eventsview.EndpointsPage{Shell: shell("Notifications", admin),
		Stop: crash.NotificationStop{Stopped: now.Add(-time.Hour), Person: "grace"},
		Endpoints: []crash.Endpoint{
			{ID: 1, Name: "Desktop team", Kind: crash.EndpointMattermost, Host: "https://chat.example.org", OwnerName: "ada",
				LastSuccess: now.Add(-time.Minute), SuccessStatus: 200},
			{ID: 2, Name: "Release dashboard", Kind: crash.EndpointWebhook, Host: "https://releases.example.org:8443",
				LastSuccess: now.AddDate(0, 0, -1), SuccessStatus: 204, LastFailure: now.Add(-time.Minute), FailureStatus: 503,
				Failures: 3, Waiting: 41_300},
			{ID: 3, Name: "Old room", Kind: crash.EndpointMatrix, Host: "https://matrix.example.org",
				Disabled:    now.AddDate(0, 0, -2),
				DisabledWhy: "It answered 410 Gone, which means that it wants no more events.", LastFailure: now.AddDate(0, 0, -2),
				FailureStatus: 410, Failures: 1},
			{ID: 4, Name: "New", Kind: crash.EndpointSlack, Host: "https://hooks.slack.example", OwnerName: "grace"},
		}}
}

// endpoint returns the page of an endpoint that fails, with deliveries in every state.
func endpoint() eventsview.EndpointPage {
	e := endpoints().Endpoints[1]
	e.PerMinute, e.FailureAnswer, e.PreviousUntil = 60, "upstream <b>unavailable</b>\nid 4711", now.Add(time.Hour)
	page := eventsview.EndpointPage{Shell: shell(e.Name, admin), Endpoint: e, First: true, Next: "/?after=1",
		Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYqr",
		Test: &eventsview.EndpointTest{Status: 503, Problem: "It answered 503 Service Unavailable.", Answer: "no",
			Took: time.Second},
		Form: eventsview.EndpointForm{Name: e.Name, PerMinute: "0", Owners: []crash.User{admin},
			Wrong: map[string]string{"per_minute": "Enter a number from 1 to 600."}},
		States: map[crash.DeliveryState]int64{crash.DeliveryWaiting: 41_300, crash.DeliveryDelivered: 12}}
	for i, state := range []crash.DeliveryState{crash.DeliveryWaiting, crash.DeliveryDelivered, crash.DeliveryFailed,
		crash.DeliverySummarised} {
		page.Deliveries = append(page.Deliveries, crash.Delivery{ID: "4b8c3a52-0a64-4a2c-9e9a-1f0e6b8c7d01", State: state,
			Event: crash.Event{Title: bucket(i).Title}, Created: now.Add(-time.Minute), Due: now.Add(time.Hour), Attempts: i})
	}
	return page
}

// delivery returns a delivery with attempts of every kind.
func delivery() eventsview.DeliveryPage {
	b := bucket(1)
	return eventsview.DeliveryPage{Shell: shell("Delivery", admin), Endpoint: endpoint().Endpoint, Type: "problem.new",
		Delivery: crash.Delivery{ID: "4b8c3a52-0a64-4a2c-9e9a-1f0e6b8c7d01", State: crash.DeliveryWaiting, Resent: 1,
			Created: now.AddDate(0, 0, -1), Due: now.Add(time.Hour), Payload: `{"type":"problem.new","data":{"title":"x"}}`,
			Event: crash.Event{Bucket: &b.ID, Title: b.Title, Text: "A problem of mesa is new.", Kind: crash.EventNew}},
		Attempts: []crash.DeliveryAttempt{
			{Started: now.Add(-time.Second)},
			{Started: now.Add(-time.Hour), Ended: now.Add(-time.Hour + 20*time.Second),
				Problem: "There was no answer within 20 seconds."},
			{Started: now.Add(-2 * time.Hour), Ended: now.Add(-2*time.Hour + time.Millisecond), Status: 503,
				Problem: "It answered 503 Service Unavailable.", Answer: "upstream <b>unavailable</b>"},
			{Started: now.Add(-3 * time.Hour), Ended: now.Add(-3*time.Hour + time.Millisecond), Status: 204},
		}}
}
