package privacy

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mishap/crash"
	"mishap/crash/crashtest"
)

// ines is a report that contains the name of its user.
var ines = crash.Fields{
	"ProcEnviron": "LANG=en_GB.UTF-8\nUSER=ines.almeida\nHOSTNAME=cedar-laptop\nHOME=/home/ines.almeida",
	"ProcCwd":     "/home/inesa/Documents", "Uname": "Linux cedarbox 6.8.0-31-generic x86_64", "RealName": "Inês Almeida",
}

func TestRedact(t *testing.T) {
	t.Parallel()
	r := NewRedactor(ines)
	tests := []struct{ name, in, want string }{
		{"home path", "cannot open /home/bob/Documents/letter to Ann.odt", "cannot open [removed]"},
		{"quoted home path with blanks", "No such file: '/home/bob/My Letters/to Ann.odt'", "No such file: '[removed]'"},
		{"source file in a home", `File "/home/bob/src/thing/main.py"`, `File "[removed]/main.py"`},
		{"source file and line in a home", "at /home/bob/src/main.c:120 (x)", "at [removed]/main.c:120 (x)"},
		{"other homes", "/var/home/bob/x /root/secret /run/user/1000/doc /media/bob/STICK/a ~bob/b ~/c /mnt/work",
			strings.TrimSpace(strings.Repeat("[removed] ", 7))},
		{"windows home", `C:\Users\bob\file.txt`, "[removed]"},
		{"file address", "file:///home/bob/x.pdf", "[removed]"},
		{"paths in the middle stay", "drivers/media/usb/uvc.c /usr/src/x/root/y.c tidewatch-1.5~beta1/src/parse.c",
			"drivers/media/usb/uvc.c /usr/src/x/root/y.c tidewatch-1.5~beta1/src/parse.c"},
		{"user name", "user ines.almeida is not allowed", "user [removed] is not allowed"},
		{"second user name", "inesa: no", "[removed]: no"},
		{"host name", "cannot resolve cedar-laptop, nor cedarbox", "cannot resolve [removed], nor [removed]"},
		{"real name", "Inês Almeida's calendar", "[removed]'s calendar"},
		{"part of a longer word stays", "reinesance cedarboxes", "reinesance cedarboxes"},
		{"password", "login failed: password=hunter2, user=x", "login failed: password=[removed], user=[removed]"},
		{"password in JSON", `{"password": "hunter2", "n": 1}`, `{"password": "[removed]", "n": 1}`},
		{"login in an address", "https://bob:hunter2@host.example/x", "https://[removed]"},
		{"query of an address", "GET https://host.example/x?key=1&u=bob done", "GET https://[removed] done"},
		{"long hex", "id 0123456789abcdef0123456789abcdef", "id [removed]"},
		{"long base64", "key AbCxEf0123456789AbCdEf0123456789AbCdEf01==", "key [removed]"},
		{"ipv4", "connect to 192.168.7.12 failed", "connect to [removed] failed"},
		{"ipv4 and port", "10.0.0.7:8080", "[removed]:8080"},
		{"ipv6", "connect to fe80::1c2a:3bff:fe4d:5e6f failed, [2001:db8::7]:443", "connect to [removed] failed, " +
			"[[removed]]:443"},
		{"loopback stays", "127.0.0.1 and ::1", "127.0.0.1 and ::1"},
		{"memory address", "<Foo object at 0x7f12ab34cd56>", "<Foo object at 0x…>"},
		{"address beside an arrow, a dash and a word", "peer:10.1.2.3->10.1.2.4, host=10.9.8.7-",
			"peer:[removed]->[removed], host=[removed]-"},
		{"network at home whatever is beside it", "x-192.168.7.12-1", "x-[removed]-1"},
		{"mapped address", "from ::ffff:10.1.2.3", "from [removed]"},
		{"name made of an address", "ip-10-1-2-3", "[removed]"},
		{"hardware address of a Bluetooth device", "/org/bluez/hci0/dev_00_1A_2B_3C_4D_5E", "/org/bluez/hci0/dev[removed]"},
		{"hardware address with dots", "001a.2b3c.4d5e", "[removed]"},
		{"user and machine", "bob@cedar:~$ ls, bob@localhost", "[removed]:~$ ls, [removed]"},
		{"users by what is before them", `user 'bob' USER=bob Username: bob uid=1000(bob) gid=4(adm),27(sudo) sudo -u bob x`,
			`user [removed] USER=[removed] Username: [removed] uid=1000([removed]) gid=4([removed]),27([removed]) sudo -u [removed] x`},
		{"environment as Python shows it", `environ({'USER': 'bob', 'HOME': '/home/bob'})`,
			`environ({'USER': '[removed]', 'HOME': '[removed]'})`},
		{"names in other letters", "CEDAR-LAPTOP and Ines.Almeida", "[removed] and [removed]"},
		{"hosts by what is before them", "cannot resolve nas.bobs.org, hostname 'cedar'", "cannot resolve [removed], " +
			"hostname [removed]"},
		{"hosts at home", "http://printer.fritz.box:631/x nas.local", "http://[removed] [removed]"},
		{"hosts of the web", "https://cloud.bobs.org:8443/remote.php", "https://[removed]"},
		{"everybody's hosts stay", "http://archive.ubuntu.com/ubuntu/dists and http://127.0.0.1:8080/x",
			"http://archive.ubuntu.com/ubuntu/dists and http://127.0.0.1:8080/x"},
		{"query of everybody's host", "https://launchpad.net/x?token=abc", "https://launchpad.net/x?[removed]"},
		{"token in a path of an address", "https://hooks.example/T000/B000/abcDEF", "https://[removed]"},
		{"secret as an option", "--password hunter2 --api-key XYZ -x", "--password [removed] --api-key [removed] -x"},
		{"secret with blanks", `password='a b c' secret_key = "d e"`, `password='[removed]' secret_key = "[removed]"`},
		{"secret after a word", "invalid token abc12345, unexpected token '}'", "invalid token [removed], " +
			"unexpected token '}'"},
		{"cookies and authorisation to the end", "Cookie: a=b; sid=c", "Cookie: [removed]"},
		{"more known tokens", "npm_abcdefghijklmnopqrst0123 ya29.a0AfH6SMBx sk_live_abcdefghij01",
			"[removed] [removed] [removed]"},
		{"command line",
			`CalledProcessError: Command '['/usr/bin/mount', '-o', 'user=bob,pass=x']' returned non-zero exit status 32.`,
			`CalledProcessError: Command '/usr/bin/mount [removed]' returned non-zero exit status 32.`},
		{"command line as text", `Command 'mount -o user=bob /x' returned non-zero exit status 1`,
			`Command 'mount [removed]' returned non-zero exit status 1`},
		{"places named after people", "/var/mail/bob /var/spool/cron/crontabs/bob /etc/cups/ppd/Bobs.ppd",
			"[removed] [removed] [removed]"},
		{"homes by other names", `/nfs/homes/bob/x /home2/bob $HOME/x '~bob' c:\users\bob C:/Users/bob \\cedar\share`,
			strings.TrimSpace(strings.Repeat("[removed] ", 3)) + " '[removed]' [removed] [removed] [removed]"},
		{"escaped", "%2Fhome%2Fbob%2Fx bob%40mail.example", "[removed] [removed]"},
		{"c++ names stay", "boost::asio::ip::tcp::fa() d3d::fade::c1(int) abc::def", "boost::asio::ip::tcp::fa() " +
			"d3d::fade::c1(int) abc::def"},
		{"serial numbers", `Serial Number: PF3XK2L9, S/N=4711 "serial": "C02X" asset-tag: 12-34 serial:A1 serial8250: ttyS0`,
			`Serial Number: [removed], S/N=[removed] "serial": "[removed]" asset-tag: [removed] serial:[removed] serial8250: ttyS0`},
	}
	for _, tt := range tests {
		if got := r.Text(tt.in); got != tt.want {
			t.Errorf("%s: got  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func TestRedactSignature(t *testing.T) {
	t.Parallel()
	r := NewRedactor(ines)
	for in, want := range map[string]string{
		"/usr/bin/gnome-session-binary:5:g_log:main":     "/usr/bin/gnome-session-binary:5:g_log:main",
		"/usr/bin/gnome-keyring:11:token_init:main":      "/usr/bin/gnome-keyring:11:token_init:main",
		"/home/bob/bin/x:11:main":                        "[removed]:11:main",
		"/usr/bin/x:11:serial:uart8250_irq:main":         "/usr/bin/x:11:serial:uart8250_irq:main",
		"/usr/bin/x:OSError(serial number: A4711):main":  "/usr/bin/x:OSError(serial number: [removed]):main",
		"/usr/bin/x:password=hunter2:y":                  "/usr/bin/x:password=[removed]",
		"/usr/bin/x:KeyError:/home/bob/y.py@20:main:run": "/usr/bin/x:KeyError:[removed]:main:run",
	} {
		if got := r.Signature(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

// FuzzRedact checks that no name in the report survives in any text, and that redacting twice
// changes nothing more.
func FuzzRedact(f *testing.F) {
	f.Add("ines.almeida at /home/ines.almeida/x, fe80::1 10.1.2.3 token=abc")
	f.Add("::::1:2%%ines.almeida,password:ines.almeida")
	f.Fuzz(func(t *testing.T, s string) {
		r := NewRedactor(ines)
		got := r.Text(s)
		for _, word := range strings.FieldsFunc(got, func(c rune) bool { return c == ' ' || c == ',' || c == ';' }) {
			if word == "ines.almeida" {
				t.Errorf("%q: got %q, want the name removed", s, got)
			}
		}
		if strings.Contains(got, "/home/ines.almeida/") {
			t.Errorf("%q: got %q, want the home directory removed", s, got)
		}
	})
}

// TestSecrets checks each kind of private data in each text that becomes public, and that redacting
// twice changes nothing more.
func TestSecrets(t *testing.T) {
	t.Parallel()
	var r Redactor
	for _, s := range crashtest.Secrets() {
		got := r.Text("prog failed: " + s.Text)
		for _, hide := range s.Hide {
			if strings.Contains(got, hide) {
				t.Errorf("%s: got %q, which has %q", s.Kind, got, hide)
			}
		}
		if !strings.HasPrefix(got, "prog failed: ") || !strings.Contains(got, Removed) {
			t.Errorf("%s: got %q, want the rest to stay and a mark", s.Kind, got)
		}
		if again := r.Text(got); again != got {
			t.Errorf("%s: got %q, and from that %q", s.Kind, got, again)
		}
		public := Texts{Name: s.Text, Title: s.Text, Signature: "/usr/bin/x:" + s.Text, Rule: crash.RuleStacktrace}.Public()
		for _, hide := range s.Hide {
			if strings.Contains(public.Name+public.Title+public.Signature, hide) {
				t.Errorf("%s: visitors see %q", s.Kind, public)
			}
		}
		checkSuspicious(t, s.Text)
	}
	for _, text := range crashtest.Harmless() {
		for name, got := range map[string]string{"text": r.Text(text), "code": r.Code(text), "name": r.Name(text),
			"path": r.Path(text), "signature": r.Signature(text)} {
			if want := memory.ReplaceAllString(text, "0x…"); got != want {
				t.Errorf("%s: got %q, want %q", name, got, text)
			}
		}
	}
}

func TestPublicTexts(t *testing.T) {
	t.Parallel()
	const native = crash.RuleStacktrace
	for name, tt := range map[string]struct{ in, want Texts }{
		"nothing private": {
			Texts{"tidewatch crashed with SIGSEGV in tide_parse_row()", "/usr/bin/tidewatch:11:tide_parse_row:main",
				"/usr/bin/tidewatch", "Tide tables", native},
			Texts{"tidewatch crashed with SIGSEGV in tide_parse_row()", "/usr/bin/tidewatch:11:tide_parse_row:main",
				"/usr/bin/tidewatch", "Tide tables", native},
		},
		"program in a home": {
			Texts{"app crashed with SIGSEGV in main()", "/home/wendeline/bin/app:11:main", "/home/wendeline/bin/app",
				"wendeline's tool", native},
			Texts{"app crashed with SIGSEGV in main()", "[removed]:11:main", "[removed]", "[removed]'s tool", native},
		},
		"assertion": {
			Texts{"quillpad assert failure: /home/bob/src/buffer.c:120: n > 0",
				"/usr/bin/quillpad:/home/bob/src/buffer.c:120: n > 0", "/usr/bin/quillpad", "", crash.RuleAssertion},
			Texts{"", "/usr/bin/quillpad:[removed]/buffer.c:120: n > 0", "/usr/bin/quillpad", "", crash.RuleAssertion},
		},
		"mail": {
			Texts{"x", "/usr/bin/post:to ann@mail.example.org", "/usr/bin/post", "", native},
			Texts{"x", "/usr/bin/post:to [removed]", "/usr/bin/post", "", native},
		},
	} {
		if got := tt.in.Public(); got != tt.want {
			t.Errorf("%s: got %+v\nwant %+v", name, got, tt.want)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1.2.3.4": "1.2.3.4", "2:1.0~git20260101.deadbeef-1": "2:1.0~git20260101.deadbeef-1", "Ubuntu 24.04": "Ubuntu 24.04",
		"libstdc++6":           "libstdc++6",
		"bob@mail.example.org": "[removed]", "/home/bob/x": "[removed]",
	} {
		if got := RedactLabel(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
	if got := RedactLabels([]crash.Release{"Ubuntu 24.04", "of bob@mail.example.org"}); len(got) != 1 ||
		got[0] != "Ubuntu 24.04" {
		t.Errorf("got %q, want the first only", got)
	}
}

// checkSuspicious checks that redacting does not change a text that is not suspicious.
func checkSuspicious(t *testing.T, s string) {
	t.Helper()
	var r Redactor
	if got := r.Text(s); got != s && !Suspicious(s) {
		t.Errorf("%q is not suspicious, but becomes %q", s, got)
	}
	if suspiciousSignature(s) {
		return
	}
	for _, got := range []string{r.Signature(s), r.Path(s), r.Name(s)} {
		if got != s {
			t.Errorf("%q is not suspicious as a signature, but becomes %q", s, got)
		}
	}
}

func FuzzSuspicious(f *testing.F) {
	for _, s := range crashtest.Secrets() {
		f.Add(s.Text)
	}
	f.Fuzz(checkSuspicious)
}

func TestSuspicious(t *testing.T) {
	t.Parallel()
	for _, r := range []crashtest.Report{crashtest.Native(), crashtest.Python(), crashtest.GoPanic(),
		crashtest.RustPanic(), crashtest.Java(), crashtest.Oops(), crashtest.ModernOops(), crashtest.Package(),
		crashtest.OddNames(), crashtest.Unsymbolised()} {
		for _, value := range r {
			for line := range strings.Lines(value) {
				checkSuspicious(t, line)
			}
		}
	}
	for _, plain := range []string{"/usr/bin/tidewatch:11:tide_parse_row:tide_load:main",
		"/usr/bin/ocean:6:Ocean::Tide::draw:std::vector:main", "kernel:NULL pointer dereference:brig_tx_done [brigwifi]"} {
		if suspiciousSignature(plain) {
			t.Errorf("Suspicious(%s): got true, want false", plain)
		}
	}
}

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

// TestDocs checks that docs/privacy.md has all public fields and the parts of secret names.
func TestDocs(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("../../docs/privacy.md")
	if err != nil {
		t.Fatal(err)
	}
	var public []string
	for _, row := range (*Table)(nil).Rows() {
		if row.Class == Public {
			public = append(public, "`"+row.Name+"`")
		}
	}
	text := strings.Join(strings.Fields(string(doc)), " ")
	for _, want := range []string{"only " + strings.Join(public, ", ") + ".", strings.Join(SecretNames(), ", ")} {
		if !strings.Contains(text, want) {
			t.Errorf("docs/privacy.md lacks %q", want)
		}
	}
}
