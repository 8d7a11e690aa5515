package faf

import (
	"slices"
	"strings"
	"testing"
)

func TestSignatures(t *testing.T) {
	t.Parallel()
	const start = Start + `7,"problem":1,"type":"core","error":"11","executables":["/bin/a"],"frames":[`
	for name, test := range map[string]struct {
		line string
		want []string
		why  string
	}{
		"apport's rule and ours": {line: start + `{"function":"std::vector<int>::at(unsigned long)","file":"/bin/a"},` +
			`{"function":"operator new(unsigned long)","file":"/lib/x.so.6"},{"function":"main","file":"/bin/a"}]}`,
			want: []string{"/bin/a:11:std::vector::at:operator new:main", "/bin/a:11:std::vector:operator:main"}},
		"two programs": {line: strings.Replace(start, `"/bin/a"`, `"/bin/a","","/bin/b"`, 1) +
			`{"function":"f","file":"/bin/a"},{"function":"g","file":"/bin/a"}]}`,
			want: []string{"/bin/a:11:f:g", "/bin/b:11:f:g"}},
		"mangled": {line: start + `{"function":"_ZN1aC1Ev","file":"/bin/a"},{"function":"main","file":"/bin/a"}]}`,
			why: "readable names"},
		"line ends": {line: start + `{"function":"f\n#1 x","file":"/bin/a"},{"function":"g","file":"/bin\n#2 y"}]}`,
			want: []string{"/bin/a:11:x:g", "/bin/a:11:f:g"}},
		"one function": {line: start + `{"function":"f","file":"/bin/a"}]}`, why: "fewer than two frames"},
		"no signal": {line: strings.Replace(start, `"11"`, `"x"`, 1) + `{"function":"f"},{"function":"g"}]}`,
			why: "its signal"},
		"thread": {line: Start + `8,"type":"python","error":"ValueError","frames":[{"function":"run",` +
			`"file":"/usr/lib/t.py","line":3}]}`, why: "does not begin in a program"},
		"module error": {line: Start + `8,"type":"python","error":"a.b","frames":[{"function":"f",` +
			`"file":"/x.py","line":3},{"function":"<module>","file":"/bin/p","line":9}]}`,
			want: []string{"/bin/p:a.b:/bin/p@9:f"}},
	} {
		r, err := Parse([]byte(test.line))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := r.Signatures()
		if !slices.Equal(got, test.want) || (err == nil) != (test.why == "") ||
			err != nil && !strings.Contains(err.Error(), test.why) {
			t.Errorf("%s: got %q, %v, want %q, %q", name, got, err, test.want, test.why)
		}
	}
}

func TestOopsFile(t *testing.T) {
	t.Parallel()
	for id, want := range map[int64]string{7: "00/00/7", 1234: "01/23/1234", 1234567: "12/34/1234567"} {
		if got := (Report{ID: id, Type: "kerneloops"}).OopsFile(); got != want {
			t.Errorf("%d: got %q, want %q", id, got, want)
		}
	}
	if got := (Report{ID: 7, Type: "core"}).OopsFile(); got != "" {
		t.Errorf("a native crash: got %q", got)
	}
}
