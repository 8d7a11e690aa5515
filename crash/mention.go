package crash

import "regexp"

// mention matches a name after an at sign, unless the at sign is part of a word, an e-mail address
// or a path. The names have the form of names of accounts.
var mention = regexp.MustCompile(`(?:^|[^\pL\pN._%+@/-])@([\pL\pN](?:[\pL\pN._@+-]{0,62}[\pL\pN])?)`)

// maxMentions is the largest number of names that a note can mention.
const maxMentions = 50

// Mention is a name after an at sign in a text.
type Mention struct {
	Name       string // without the at sign, as typed
	Start, End int    // of the at sign and the name, in bytes
}

// Mentions returns the names after an at sign in a text. Whether there are such accounts is for the
// caller to find out.
func Mentions(text string) []Mention {
	var all []Mention
	for _, at := range mention.FindAllStringSubmatchIndex(text, maxMentions) {
		all = append(all, Mention{Name: text[at[2]:at[3]], Start: at[2] - 1, End: at[3]})
	}
	return all
}
