package tracker

import (
	"strings"
	"testing"

	"mishap/crash"
)

// ines is a report that knows who it is from.
var ines = crash.Fields{
	"ProcEnviron": "LANG=en_GB.UTF-8\nUSER=ines.almeida\nHOSTNAME=cedar-laptop\nHOME=/home/ines.almeida",
	"ProcCwd":     "/home/inesa/Documents", "Uname": "Linux cedarbox 6.8.0-31-generic x86_64", "RealName": "Inês Almeida",
}

func TestRedact(t *testing.T) {
	t.Parallel()
	r := newRedactor(ines)
	tests := []struct{ name, in, want string }{
		{"nothing private", `invalid literal for int() with base 10: 'host-77'`, `invalid literal for int() with base 10: 'host-77'`},
		{"home path", "cannot open /home/bob/Documents/letter to Ann.odt", "cannot open [removed] to Ann.odt"},
		{"quoted home path with blanks", "No such file: '/home/bob/My Letters/to Ann.odt'", "No such file: '[removed]'"},
		{"source file in a home", `File "/home/bob/src/thing/main.py"`, `File "[removed]/main.py"`},
		{"source file and line in a home", "at /home/bob/src/main.c:120 (x)", "at [removed]/main.c:120 (x)"},
		{"other homes", "/var/home/bob/x /root/secret /run/user/1000/doc /media/bob/STICK/a ~bob/b ~/c /mnt/work", strings.TrimSpace(strings.Repeat("[removed] ", 7))},
		{"windows home", `C:\Users\bob\file.txt`, "[removed]"},
		{"file address", "file:///home/bob/x.pdf", "[removed]"},
		{"system path stays", "/usr/lib/python3/dist-packages/homectl/io.py", "/usr/lib/python3/dist-packages/homectl/io.py"},
		{"paths in the middle stay", "drivers/media/usb/uvc.c /usr/src/x/root/y.c tidewatch-1.5~beta1/src/parse.c", "drivers/media/usb/uvc.c /usr/src/x/root/y.c tidewatch-1.5~beta1/src/parse.c"},
		{"user name", "user ines.almeida is not allowed", "user [removed] is not allowed"},
		{"second user name", "inesa: no", "[removed]: no"},
		{"host name", "cannot resolve cedar-laptop, nor cedarbox", "cannot resolve [removed], nor [removed]"},
		{"real name", "Inês Almeida's calendar", "[removed]'s calendar"},
		{"part of a longer word stays", "reinesance cedarboxes", "reinesance cedarboxes"},
		{"e-mail", "to bob.smith+x@mail.example.org failed", "to [removed] failed"},
		{"password", "login failed: password=hunter2, user=x", "login failed: password=[removed], user=x"},
		{"password in JSON", `{"password": "hunter2", "n": 1}`, `{"password": "[removed]", "n": 1}`},
		{"token in a header", "Authorization: Bearer abcdef0123456789", "Authorization: [removed]"},
		{"api key", "API_KEY=abc123", "API_KEY=[removed]"},
		{"cookie", "Set-Cookie: sid=abcdefgh", "Set-Cookie: [removed]"},
		{"login in an address", "https://bob:hunter2@host.example/x", "https://[removed]@host.example/x"},
		{"query of an address", "GET https://host.example/x?key=1&u=bob done", "GET https://host.example/x?[removed] done"},
		{"github token", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[removed]"},
		{"aws key", "AKIAIOSFODNN7EXAMPLE", "[removed]"},
		{"jwt", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def", "[removed]"},
		{"private key", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "[removed]"},
		{"long hex", "id 0123456789abcdef0123456789abcdef", "id [removed]"},
		{"long base64", "key AbCxEf0123456789AbCdEf0123456789AbCdEf01==", "key [removed]"},
		{"uuid", "disk 123e4567-e89b-12d3-a456-426614174000 gone", "disk [removed] gone"},
		{"ipv4", "connect to 192.168.7.12 failed", "connect to [removed] failed"},
		{"ipv4 and port", "10.0.0.7:8080", "[removed]:8080"},
		{"ipv6", "connect to fe80::1c2a:3bff:fe4d:5e6f failed, [2001:db8::7]:443", "connect to [removed] failed, [[removed]]:443"},
		{"loopback stays", "127.0.0.1 and ::1", "127.0.0.1 and ::1"},
		{"hardware address", "wlan 00:1a:2b:3c:4d:5e", "wlan [removed]"},
		{"memory address", "<Foo object at 0x7f12ab34cd56>", "<Foo object at 0x…>"},
		{"version stays", "libfoo 1.2.3.4-5ubuntu1 and 10.0.2.4+git", "libfoo 1.2.3.4-5ubuntu1 and 10.0.2.4+git"},
		{"c++ names stay", "boost::asio::ip::tcp::fa() d3d::fade::c1(int) abc::def", "boost::asio::ip::tcp::fa() d3d::fade::c1(int) abc::def"},
		{"mangled names stay", "_ZN5boost4asio6detail14io_object_implINS1_19resolver_serviceEE", "_ZN5boost4asio6detail14io_object_implINS1_19resolver_serviceEE"},
		{"long names stay", "reef_walk_directory_entry_and_visit_each_child_2", "reef_walk_directory_entry_and_visit_each_child_2"},
		{"times stay", "at 12:34:56 on 2026-11-21", "at 12:34:56 on 2026-11-21"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := r.text(tt.in); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestRedactSignature(t *testing.T) {
	t.Parallel()
	r := newRedactor(ines)
	for in, want := range map[string]string{
		"/usr/bin/gnome-session-binary:5:g_log:main":     "/usr/bin/gnome-session-binary:5:g_log:main",
		"/usr/bin/gnome-keyring:11:token_init:main":      "/usr/bin/gnome-keyring:11:token_init:main",
		"/home/bob/bin/x:11:main":                        "[removed]:11:main",
		"/usr/bin/x:password=hunter2:y":                  "/usr/bin/x:password=[removed]",
		"/usr/bin/x:KeyError:/home/bob/y.py@20:main:run": "/usr/bin/x:KeyError:[removed]:main:run",
	} {
		if got := r.signature(in); got != want {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

// Whatever the text, nothing of a name that the report gives away survives, and redacting twice changes nothing more.
func FuzzRedact(f *testing.F) {
	f.Add("ines.almeida at /home/ines.almeida/x, fe80::1 10.1.2.3 token=abc")
	f.Add("::::1:2%%ines.almeida,password:ines.almeida")
	f.Fuzz(func(t *testing.T, s string) {
		r := newRedactor(ines)
		got := r.text(s)
		for _, word := range strings.FieldsFunc(got, func(c rune) bool { return c == ' ' || c == ',' || c == ';' }) {
			if word == "ines.almeida" {
				t.Errorf("%q: the name is still in %q", s, got)
			}
		}
		if strings.Contains(got, "/home/ines.almeida/") {
			t.Errorf("%q: a home is still in %q", s, got)
		}
	})
}
