package send

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"mishap/crash/sender"
)

// configFile is the configuration for the machine. It is the agreement to send reports: without it, nothing is sent.
const configFile = "/etc/mishap/send.toml"

// settings are the keys of the configuration.
type settings struct {
	Server string   `toml:"server"`
	Users  []string `toml:"users"` // names or numbers; nil: all

	Ping bool `toml:"ping"`

	Cores          bool  `toml:"cores"`
	CoreMaxBytes   int64 `toml:"core_max_bytes"`
	CoresOnBattery bool  `toml:"cores_on_battery"`

	uids []int64 // of Users
}

// load reads the configuration.
func load(file string) (s settings, err error) {
	s.CoreMaxBytes = 256 << 20 // the default limit of servers
	doc, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("nothing is sent, because of %s: %w; to agree, write into it: "+
			`server = "https://crashes.example.org"`, file, fs.ErrNotExist)
	}
	if err != nil {
		return s, err
	}
	err = toml.NewDecoder(bytes.NewReader(doc)).DisallowUnknownFields().Decode(&s)
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(strict.Errors) > 0 {
		line, _ := strict.Errors[0].Position()
		return s, fmt.Errorf("%s:%d: unknown key %q", file, line, strings.Join(strict.Errors[0].Key(), "."))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		return s, fmt.Errorf("%s:%d: %s", file, line, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", file, err)
	}
	if s.Server == "" {
		return s, fmt.Errorf(`%s: the key server is missing; add server = "https://…"`, file)
	}
	if s.Server, err = sender.ParseServer(s.Server); err != nil {
		return s, fmt.Errorf("%s: server: %w", file, err)
	}
	if s.CoreMaxBytes <= 0 {
		return s, fmt.Errorf("%s: core_max_bytes: expected a positive number", file)
	}
	if s.uids, err = uidsOf(s.Users); err != nil {
		return s, fmt.Errorf("%s: users: %w", file, err)
	}
	return s, nil
}

// uidsOf returns the numbers of users. It returns nil only for nil, which means all users.
func uidsOf(users []string) ([]int64, error) {
	if users == nil {
		return nil, nil
	}
	if len(users) == 0 {
		return nil, errors.New("the list is empty; leave the key out to report the crashes of all users")
	}
	uids := make([]int64, len(users))
	for i, name := range users {
		number := name
		if u, err := user.Lookup(name); err == nil {
			number = u.Uid
		}
		uid, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("there is no user %q", name)
		}
		uids[i] = int64(uid)
	}
	return uids, nil
}
