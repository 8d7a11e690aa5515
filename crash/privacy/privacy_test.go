package privacy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
)

// people are readers by the highest class that they may read.
var people = map[Class]crash.User{
	Public:     {},
	Restricted: {Role: crash.RoleTriager, Private: crash.Packages{Names: []string{"other"}}},
	Private:    {Role: crash.RoleViewer, Private: crash.Packages{Names: []string{"reef"}}},
}

// TestVisible checks every known field, unknown and hostile names, for every kind of reader.
func TestVisible(t *testing.T) {
	t.Parallel()
	want := map[string]Class{
		"": Restricted, "ProcEnviron ": Restricted, "procenviron": Restricted, "Traceback\n": Restricted, "…": Restricted,
		"<script>": Restricted, "*": Restricted, "a=b": Restricted, "\x00": Restricted, "FooBar": Restricted,
		"SenderFooBar": Restricted, "nmcli-dev": Private, "NetDevice.eth0": Private, "nmcli": Restricted,
		"SenderStacktrace": Private, "SenderProcEnviron": Private, "UserPassword": Secret, "GH_TOKEN": Secret,
		"aws.Secret-Access Key": Secret, "API key": Secret, "modified.conffile..etc.passwd": Secret,
		"modified.conffile..etc.default.grub": Private, "KeyboardLayout": Restricted,
	}
	for name, f := range builtIn {
		want[name] = f.Class
	}
	fields := crash.Fields{}
	for name := range want {
		fields[name] = "value of " + name
	}
	for readable, person := range people {
		visible, hidden := (*Table)(nil).Visible(person, fields, "reef")
		for name, class := range want {
			value, ok := visible[name]
			if ok != (class <= readable) || ok && value != fields[name] {
				t.Errorf("%q, which is %s, for a reader of %s fields: got visible %v", name, class, readable, ok)
			}
			if slices.Contains(hidden, name) == ok {
				t.Errorf("%q for a reader of %s fields: got visible %v, and also hidden %v", name, readable, ok, ok)
			}
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	table, err := Parse("JournalErrors=secret Proc*=restricted ProcEnviron=secret ProcM*=private Ac=me=private",
		"secret")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]Class{
		"JournalErrors": Secret, "ProcCmdline": Restricted, "ProcEnviron": Secret, "ProcMaps": Private, "ProcNew": Restricted,
		"Ac=me": Private, "Other": Secret, "SenderProcEnviron": Secret, "Package": Public, "CoreDump": Private,
		"ProblemType": Public,
	} {
		if got := table.Class(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	// A configured class applies to excerpts, too.
	if got := table.Excerpt("ProcMaps"); got != Private {
		t.Errorf("excerpt of ProcMaps: got %s, want private", got)
	}
	if got := table.Excerpt("ErrorMessage"); got != Restricted {
		t.Errorf("excerpt of ErrorMessage: got %s, want restricted", got)
	}
	if (*Table)(nil).Hash() == table.Hash() {
		t.Error("the hash of a changed table is that of the built-in one")
	}
	var changed []string
	for _, row := range table.Rows() {
		if row.Changed() {
			changed = append(changed, row.Name)
		}
	}
	for _, name := range []string{"JournalErrors", "ProcM*", "ProcEnviron", "ProcCmdline", "Ac=me"} {
		if !slices.Contains(changed, name) {
			t.Errorf("got the changed rows %v, want %s among them", changed, name)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for changes, want := range map[string]string{
		"JournalErrors":               "is not a field, = and a class",
		"=secret":                     "is not a field, = and a class",
		"JournalErrors=hidden":        `"hidden" is not a class`,
		"JournalErrors=":              "is not a class",
		"JournalErrors=Secret":        "is not a class",
		"JournalErrors=public":        "cannot be public",
		"*=restricted":                "* alone is not possible",
		"a*b*=secret":                 "at the end only",
		"Package=secret":              "Package is always public",
		"CoreDump=restricted":         "CoreDump is always private",
		"MishapDropped=secret":        "MishapDropped is always restricted",
		"Foo=secret Foo=private":      "has two classes",
		"ok=secret JournalErrors=nix": "is not a class",
	} {
		if _, err := Parse(changes, "private"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", changes, err, want)
		}
	}
	for _, unlisted := range []string{"", "public", "Private", "x"} {
		if _, err := Parse("", unlisted); err == nil {
			t.Errorf("unlisted fields as %q: got no error", unlisted)
		}
	}
}

func TestDropSecrets(t *testing.T) {
	t.Parallel()
	sent := crash.Fields{"Package": "reef 1", "MyPassword": "hunter2", "line\nbreak token": "x", "Note": "stays",
		strings.Repeat("token", 100): "long"}
	rest, dropped := (*Table)(nil).DropSecrets(sent)
	if len(dropped) != 3 || len(sent) != 5 || rest["Note"] != "stays" || rest["MyPassword"] != "" {
		t.Errorf("got %v, dropped %v; want 3 dropped, and the fields as sent unchanged", rest, dropped)
	}
	names := strings.Split(rest[crash.DroppedField], "\n")
	if len(names) != 3 || !slices.Contains(names, "MyPassword") || !slices.Contains(names, "line break token") {
		t.Errorf("got the names %q, want three, each on one line", names)
	}
	for _, name := range names {
		if len(name) > maxName+len("…") {
			t.Errorf("got a name of %d bytes, want it truncated", len(name))
		}
	}
	if again, dropped := (*Table)(nil).DropSecrets(rest); len(dropped) != 0 || again[crash.DroppedField] !=
		rest[crash.DroppedField] {
		t.Errorf("second time: dropped %v, want nothing", dropped)
	}
	AddNames(rest, crash.DroppedField, []string{"MyPassword", "Another"})
	if got := rest[crash.DroppedField]; strings.Count(got, "MyPassword") != 1 || !strings.HasPrefix(got, "Another\n") {
		t.Errorf("got %q, want each name once, sorted", got)
	}
}

// FuzzClass checks that no name makes a field more visible than unlisted ones, and that dropping twice
// changes nothing more.
func FuzzClass(f *testing.F) {
	f.Add("ProcEnviron")
	f.Add("Sender")
	f.Add("SenderSenderStacktrace")
	f.Fuzz(func(t *testing.T, name string) {
		_, listed := builtIn[name]
		if class := (*Table)(nil).Class(name); class < Unlisted && !listed {
			t.Errorf("%q: got %s", name, class)
		}
		once, _ := (*Table)(nil).DropSecrets(crash.Fields{name: "x"})
		if _, dropped := (*Table)(nil).DropSecrets(once); len(dropped) > 0 {
			t.Errorf("%q: dropped %q again", name, dropped)
		}
	})
}

// TestDocs checks that docs/privacy.md has the built-in table and the parts of secret names.
func TestDocs(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| field | class | restricted excerpt |\n|---|---|---|\n")
	for _, row := range (*Table)(nil).Rows() {
		class := row.Class.String()
		if row.Fixed {
			class += " (fixed)"
		}
		want.WriteString("| `" + row.Name + "` | " + class + " | " + row.Excerpt + " |\n")
	}
	if _, got, _ := strings.Cut(string(doc), "\n## Fields\n\n"); got != want.String() {
		t.Errorf("the table of docs/privacy.md differs; want\n%s", want.String())
	}
	names := strings.Join(SecretNames(), ", ")
	if !strings.Contains(strings.Join(strings.Fields(string(doc)), " "), names) {
		t.Errorf("docs/privacy.md does not list %q", names)
	}
}
