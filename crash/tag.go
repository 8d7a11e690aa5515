package crash

import (
	"regexp"
	"strings"
	"time"
)

// ProblemTag is a tag that a problem has.
type ProblemTag struct {
	Tag    string
	Person string // who added it: an account, or the name of a rule
	At     time.Time
}

// MaxTags is the largest number of tags of a problem.
const MaxTags = 10

var tagPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]{0,39}$`)

// ParseTag returns a tag in lower case. Its error has the kind Invalid.
func ParseTag(text string) (string, error) {
	tag := strings.ToLower(strings.TrimSpace(text))
	if !tagPattern.MatchString(tag) {
		return "", Errorf(Invalid, "bad_tag", "%.80q is not a tag. A tag has at most 40 letters a–z, digits and .+- and "+
			"begins with a letter or digit.", text)
	}
	return tag, nil
}
