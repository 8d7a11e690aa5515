package problems

import (
	"encoding/json"
	"net/http"
	"strconv"

	"mishap/crash"
	"mishap/handlers/web"
)

// peopleChange is the body of a request of the API. Fields that are missing change nothing.
type peopleChange struct {
	Problem  string   `json:"problem"`
	Assignee *string  `json:"assignee"`
	Add      []string `json:"add_tags"`
	Remove   []string `json:"remove_tags"`
}

// peopleNow is the answer to such a request.
type peopleNow struct {
	Problem  string   `json:"problem"`
	Assignee string   `json:"assignee"`
	Bug      *string  `json:"bug"`
	Tags     []string `json:"tags"`
}

var (
	// ErrPeopleMedia is the error for a body that is not application/json.
	ErrPeopleMedia = crash.Errorf(crash.UnsupportedMedia, "media_type", "Send the change as application/json.")
	errPeopleJSON  = crash.Errorf(crash.Invalid, "not_json",
		`Send a JSON object with the field "problem", and "assignee", "add_tags" or "remove_tags".`)
)

// ChangePeople assigns a problem, and adds and removes tags, for programs. It makes the changes one
// after the other: an error in one leaves those before it in place.
func (s *Pages) ChangePeople(w http.ResponseWriter, r *http.Request) error {
	change, err := readPeopleChange(r)
	if err != nil {
		return err
	}
	id, err := crash.ParseBucketID(change.Problem)
	if err != nil {
		id = crash.BucketIDOf(change.Problem)
	}
	ctx, person := r.Context(), web.CurrentUser(r).Name
	b, err := s.Bucket(ctx, id)
	if err != nil {
		return err
	}
	if err := web.CheckTriage(r, b.SourcePackage); err != nil {
		return err
	}
	if change.Assignee != nil {
		if *change.Assignee == "me" {
			change.Assignee = &person
		}
		a := crash.Assignment{Bucket: b.ID, Assignee: *change.Assignee, By: person}
		if _, err := s.Problems.Assign(ctx, a); err != nil {
			return err
		}
	}
	for _, tag := range change.Remove {
		if _, err := s.Problems.Untag(ctx, b.ID, tag, person); err != nil {
			return err
		}
	}
	for _, tag := range change.Add {
		if _, err := s.Problems.Tag(ctx, b.ID, tag, person); err != nil {
			return err
		}
	}
	v, err := s.peopleView(r, b)
	if err != nil {
		return err
	}
	now := peopleNow{Problem: b.ID.String(), Assignee: v.Assigned.Name, Tags: []string{}}
	if v.Assigned.Bug != 0 {
		number := strconv.FormatInt(v.Assigned.Bug, 10)
		now.Bug = &number
	}
	for _, t := range v.Tags {
		now.Tags = append(now.Tags, t.Tag)
	}
	return web.WriteJSON(w, http.StatusOK, now)
}

// readPeopleChange reads the body of a request.
func readPeopleChange(r *http.Request) (change peopleChange, err error) {
	body, err := web.ReadJSON(r, ErrPeopleMedia, errPeopleJSON)
	if err != nil {
		return change, err
	}
	if json.Unmarshal(body, &change) != nil || change.Problem == "" {
		return change, errPeopleJSON
	}
	if len(change.Add)+len(change.Remove) > 2*crash.MaxTags {
		return change, crash.Errorf(crash.Invalid, "too_many_tags", "Change at most %d tags at once.", 2*crash.MaxTags)
	}
	return change, nil
}
