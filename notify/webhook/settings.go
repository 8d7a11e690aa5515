package webhook

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"mishap/crash"
)

// Limits of the settings of an endpoint.
const (
	MaxName      = 60
	MaxPerMinute = 600
	maxAddress   = 2000
)

var matrixRoom = regexp.MustCompile(`^![^\s/?#]{1,250}$`)

// CheckSettings returns what is wrong with the settings of an endpoint, by field, and sets its host. An
// empty address or secret means that the stored one stays; isNew says that there is none.
func CheckSettings(e *crash.Endpoint, isNew bool) map[string]string {
	wrong := map[string]string{}
	if e.Name == "" || utf8.RuneCountInString(e.Name) > MaxName || plain(e.Name, len(e.Name)) != e.Name {
		wrong["name"] = "Enter a name of at most 60 characters."
	}
	if e.PerMinute < 1 || e.PerMinute > MaxPerMinute {
		wrong["per_minute"] = "Enter a number from 1 to 600."
	}
	switch address := string(e.Address); {
	case address != "":
		host, problem := hostOf(e.Kind, address)
		if problem != "" {
			wrong["address"] = problem
		}
		e.Host = host
	case isNew:
		wrong["address"] = "Enter the address."
	}
	switch e.Kind {
	case crash.EndpointMatrix:
		if !matrixRoom.MatchString(e.Channel) {
			wrong["channel"] = "Enter the id of the room, which begins with an exclamation mark. Aliases (#name) do not work."
		}
		if e.Secret == "" && isNew {
			wrong["secret"] = "Enter the access token of the account that writes."
		}
	case crash.EndpointMattermost:
		if utf8.RuneCountInString(e.Channel) > 64 || strings.ContainsFunc(e.Channel, func(r rune) bool { return r <= ' ' }) {
			wrong["channel"] = "Enter the name of a channel as in its address, or nothing."
		}
	default:
		e.Channel = ""
	}
	if strings.ContainsFunc(string(e.Secret), func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		wrong["secret"] = "The token must not contain spaces or special characters."
	}
	return wrong
}

// hostOf returns scheme and host of an address, or what is wrong with it.
func hostOf(kind crash.EndpointKind, address string) (host, problem string) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || len(address) > maxAddress:
		return "", "Enter an address that begins with https:// or http://."
	case u.Fragment != "":
		return "", "Leave out the part behind #."
	case kind == crash.EndpointMatrix && (u.RawQuery != "" || u.User != nil):
		return "", "Enter only the address of the homeserver, such as https://matrix.example.org."
	}
	return u.Scheme + "://" + u.Host, ""
}
