package api

import (
	"net/http"
	"time"

	"mishap/crash"
	"mishap/db/upkeep"
)

// EraseMachine is the name of the resource that erases a machine.
const EraseMachine = "erase-machine"

func eraseResources() []resource {
	return []resource{{
		name: EraseMachine, method: http.MethodPost, access: administrator, external: true,
		summary: "Erases everything that is known about a machine.",
		doc: "The answer comes at once; the work goes on in the background. The same question again joins an " +
			"erasure that is " +
			"running, so asking again shows its progress. What has arrived later is erased by the next question. The " +
			"answer does not " +
			"contain the machine, only a digest. A session must send the CSRF token of the cookie csrftoken in the header " +
			"X-CSRFToken; an API token with the scope admin needs none.",
		body: eraseQuestion{}, object: erasureAnswer{},
		outcomes: map[string]string{"202": "The erasure, which is running."},
	}}
}

type eraseQuestion struct {
	System string `json:"system" doc:"The id of the machine, as in the address of its page."`
	Block  bool   `json:"block" doc:"Refuse later reports of the machine."`
}

const eraseShape = `{"system": "…", "block": false}`

type erasureAnswer struct {
	ID        int64              `json:"id" doc:"Number of the erasure."`
	Digest    string             `json:"digest" doc:"Digest of the machine, with a key that never leaves the server."`
	Blocked   bool               `json:"blocked"`
	Requested string             `json:"requested" doc:"When it was asked for, UTC."`
	Finished  string             `json:"finished" doc:"When nothing was left; empty: it is running."`
	Removed   crash.ErasedCounts `json:"removed" doc:"What has been removed so far."`
	Link      string             `json:"web_link" doc:"The list of erasures."`
}

// Erase begins to erase a machine on behalf of an administrator, whose right the caller has checked.
func (a *API) Erase(w http.ResponseWriter, r *http.Request, person string) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	var q eraseQuestion
	if err := readQuestion(body, &q, eraseShape); err != nil {
		return err
	}
	e, err := upkeep.NewErasing(a.from.store).Request(r.Context(), crash.NewSystemID(q.System), q.Block, person)
	if err != nil {
		return err
	}
	return a.write(w, r, http.StatusAccepted, erasureAnswer{ID: e.ID, Digest: e.Digest, Blocked: e.Blocked,
		Requested: e.Requested.UTC().Format(time.RFC3339), Removed: e.Counts, Link: a.from.base + "/admin/erasures"})
}
