package launchpad

import "testing"

func TestEncodeList(t *testing.T) {
	t.Parallel()
	got := encodeList([]string{"noble", "24.10", "true", "NaN", "-Infinity", `"x"`, "[1]", " 7 ", "1e", "a,b", "<&>"})
	const want = `["noble","\"24.10\"","\"true\"","\"NaN\"","\"-Infinity\"","\"\\\"x\\\"\"","\"[1]\"",` +
		`"\" 7 \"","1e","a,b","<&>"]`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
