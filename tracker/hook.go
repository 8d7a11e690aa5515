package tracker

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"

	"mishap/crash"
)

// Change is what a call of a webhook says: that a bug may have changed.
type Change struct {
	Call    string // the tracker's id of the call
	Project string
	Number  int64 // of the bug in the project; 0: the call is about no bug
}

var (
	errBadSignature = crash.Errorf(crash.Unauthenticated, "bad_signature", "The signature or token of this call does "+
		"not fit webhook_secret in the configuration of mishap. Enter the same secret in the settings of the webhook.")
	errNoCallID = crash.Errorf(crash.Invalid, "no_call_id", "This call has no id, or one with more than 200 characters.")
	errBadCall  = crash.Errorf(crash.Invalid, "bad_call", "The body of this call is not the JSON of an event. Choose "+
		"application/json as the content type of the webhook.")
)

// CheckMAC compares a hexadecimal HMAC-SHA256 with that of a body. It returns Unauthenticated if they differ.
func CheckMAC(given string, body []byte, secret crash.Secret) error {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	sum, err := hex.DecodeString(given)
	if err != nil || secret == "" || !hmac.Equal(sum, mac.Sum(nil)) {
		return errBadSignature
	}
	return nil
}

// CheckToken compares a token with a secret, in a time that does not depend on either. It returns Unauthenticated if
// they differ.
func CheckToken(given string, secret crash.Secret) error {
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(secret))
	if secret == "" || subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		return errBadSignature
	}
	return nil
}

var callID = regexp.MustCompile(`^[!-~]{1,200}$`)

// CheckCallID returns Invalid if a call has no valid id.
func CheckCallID(id string) error {
	if !callID.MatchString(id) {
		return errNoCallID
	}
	return nil
}

// ReadCall reads the body of a call into v, unless the call has no valid id.
func ReadCall(id string, body []byte, v any) error {
	if err := CheckCallID(id); err != nil {
		return err
	}
	if json.Unmarshal(body, v) != nil {
		return errBadCall
	}
	return nil
}

// RepositoryCall reads a call of GitHub, or of Forgejo, which sends the same names.
func RepositoryCall(id, event string, body []byte) (Change, error) {
	if event != "issues" {
		return Change{Call: id}, CheckCallID(id)
	}
	var in struct {
		Issue struct {
			Number int64 `json:"number"`
		} `json:"issue"`
		Repository struct {
			Name string `json:"full_name"`
		} `json:"repository"`
	}
	err := ReadCall(id, body, &in)
	return Change{id, in.Repository.Name, in.Issue.Number}, err
}

// Numbered returns the numbers that a bug of a tracker has at the places that are known for a project. Projects whose
// names differ only in their case are the same.
func (s *Sites) Numbered(ctx context.Context, name, project string, number int64) (numbers []int64, err error) {
	all, err := s.All(ctx)
	for _, site := range all {
		if site.Name == name && strings.EqualFold(site.Project, project) && number > 0 && number <= maxNumber {
			numbers = append(numbers, crash.NumberAt(site.place, number))
		}
	}
	return numbers, err
}
