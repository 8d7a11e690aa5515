package issuetest

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net/http"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Debian is debbugs, the bug tracking system of Debian: it gets mail, and has a SOAP interface at /cgi-bin/soap.cgi.
// The rules are those of scripts/process, Debbugs/SOAP.pm and Debbugs/Status.pm of debbugs. An account is the mail
// address in the field From, which nobody checks. All packages exist.
func Debian() kind {
	return kind{
		routes: func(s *Server) {
			d := &debian{s}
			s.post = &post{Server: s, operation: d.operation, process: d.process}
			s.handleAny("POST /cgi-bin/soap.cgi", d.method)
			s.handle("page", "GET /{number}", func(c *call) reply { return issuePage(c, s.find("", c.number("number"))) })
		},
		token: func(*http.Request) string { return "" },
		reply: func(f Fault) reply {
			switch f {
			case Busy, Limit:
				return reply{429, "<title>Too many requests</title>", map[string]string{"Retry-After": "60"}}
			case Refused:
				return soapFault("it was refused")
			default:
				return reply{403, "<title>Forbidden</title>", nil}
			}
		},
		first: 1000001, global: true,
	}
}

type debian struct{ *Server }

var numbered = regexp.MustCompile(`^([1-9][0-9]{0,8})(-done|-quiet)?@`)

func (d *debian) operation(to string) string {
	switch {
	case strings.HasPrefix(to, "submit@"):
		return "create"
	case strings.HasPrefix(to, "control@"):
		return "control"
	case numbered.MatchString(to):
		return "comment"
	}
	return ""
}

var (
	pseudoHeader = regexp.MustCompile(`^([\w-]+):\s*(\S.*)`)
	// followUp matches the subject of a mail to submit that is about a bug.
	followUp = regexp.MustCompile(`(?i)^Bug ?#(\d+)\D`)
	isReply  = regexp.MustCompile(`(?i)^Re:\s*`)
)

// process carries out a mail. It ignores one that makes no sense, to whose sender debbugs would write.
func (d *debian) process(to string, raw []byte) {
	m, err := mail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		return
	}
	body := mailText(m)
	from := decoded(m.Header.Get("From"))
	if strings.HasPrefix(to, "control@") {
		d.control(strings.Split(body, "\n"), from)
		return
	}
	fields := map[string]string{}
	lines := strings.Split(body, "\n")
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 {
		f := pseudoHeader.FindStringSubmatch(lines[0])
		if f == nil {
			break
		}
		name := strings.ToLower(f[1])
		if name == "control" {
			f[2] = fields[name] + "\n" + f[2]
		}
		fields[name], lines = strings.TrimRight(f[2], "\r "), lines[1:]
	}
	subject := isReply.ReplaceAllString(decoded(m.Header.Get("Subject")), "")
	about := numbered.FindStringSubmatch(to)
	if n := followUp.FindStringSubmatch(subject + "\n"); about == nil && n != nil {
		about = append(n, "")
	}
	if about == nil {
		d.file(m, raw, from, subject, fields, strings.Join(lines, "\n"))
		return
	}
	number, _ := strconv.ParseInt(about[1], 10, 64) // 0 finds nothing
	i := d.find("", number)
	if i == nil || i.Extra["archived"] != nil {
		return
	}
	d.comment(i, from, strings.Trim(body, "\n"))
	if about[2] == "-done" {
		d.control([]string{"close " + about[1] + " " + fields["version"]}, from)
	}
	d.control(strings.Split(fields["control"], "\n"), from)
}

func (d *debian) file(m *mail.Message, raw []byte, from, subject string, fields map[string]string, text string) {
	name := strings.ToLower(fields["source"])
	if name == "" {
		name = strings.TrimPrefix(strings.ToLower(fields["package"]), "src:")
	}
	if name == "" {
		return
	}
	i := d.add(&Issue{
		Project: name, Title: subject, Text: strings.Trim(text, "\n"), Author: bareAddress(from),
		Labels: strings.Fields(strings.ToLower(fields["tags"])), Extra: map[string]any{
			"msgid": m.Header.Get("Message-Id"), "originator": from, "mail": raw, "severity": fields["severity"],
			"usertags": strings.Fields(fields["usertags"]),
		},
	}, true)
	if v := fields["version"]; v != "" {
		i.Extra["found"] = []string{name + "/" + v}
	}
}

// mailText returns the text of a mail, which has one part.
func mailText(m *mail.Message) string {
	body := m.Body
	switch strings.ToLower(m.Header.Get("Content-Transfer-Encoding")) {
	case "quoted-printable":
		body = quotedprintable.NewReader(body)
	case "base64":
		body = base64.NewDecoder(base64.StdEncoding, body)
	}
	text, _ := io.ReadAll(body) // up to what cannot be decoded
	text = bytes.ReplaceAll(text, []byte("\uFEFF"), nil)
	return strings.ReplaceAll(strings.ToValidUTF8(string(text), "?"), "\r\n", "\n")
}

func decoded(header string) string {
	text, err := new(mime.WordDecoder).DecodeHeader(header)
	if err != nil {
		return header
	}
	return text
}

func bareAddress(from string) string {
	if a, err := mail.ParseAddress(from); err == nil {
		return a.Address
	}
	return from
}

// control carries out the commands of a mail to control, up to one that ends them.
func (d *debian) control(lines []string, from string) {
	for _, line := range lines {
		word := strings.Fields(line)
		if len(word) > 0 && slices.Contains([]string{"thanks", "thank", "stop", "quit", "--"}, word[0]) {
			return
		}
		if len(word) < 2 {
			continue
		}
		number, _ := strconv.ParseInt(strings.TrimPrefix(word[1], "#"), 10, 64) // 0 finds nothing
		i := d.find("", number)
		if i == nil || i.Extra["archived"] != nil && word[0] != "unarchive" {
			continue
		}
		rest := strings.Join(word[2:], " ")
		versions := func(name string) {
			list, _ := i.Extra[name].([]string)
			for _, v := range word[2:] {
				if !strings.Contains(v, "/") {
					v = i.Project + "/" + v
				}
				list = append(list, v)
			}
			i.Extra[name] = list
		}
		switch word[0] {
		case "forwarded":
			i.Extra["forwarded"] = rest
		case "owner":
			i.Assignee = rest
		case "retitle":
			i.Title = rest
		case "severity":
			i.Extra["severity"] = rest
		case "archive":
			i.Extra["archived"] = 1
		case "unarchive":
			delete(i.Extra, "archived")
		case "found":
			versions("found")
		case "close", "fixed":
			versions("fixed")
			if word[0] == "close" {
				i.Closed, i.Extra["done"] = true, from
			}
		case "merge":
			d.merge(word[1:])
		}
		d.touch(i)
	}
}

func (d *debian) merge(numbers []string) {
	for _, n := range numbers {
		number, _ := strconv.ParseInt(n, 10, 64)
		if i := d.find("", number); i != nil {
			others := slices.DeleteFunc(slices.Clone(numbers), func(s string) bool { return s == n })
			i.Extra["mergedwith"] = strings.Join(others, " ")
		}
	}
}

// element is an element of a SOAP request.
type element struct {
	XMLName xml.Name
	Text    string    `xml:",chardata"`
	Inside  []element `xml:",any"`
}

// value returns the texts of an argument, which may be a list.
func (e element) value() []string {
	if len(e.Inside) == 0 {
		return []string{strings.TrimSpace(e.Text)}
	}
	var all []string
	for _, item := range e.Inside {
		all = append(all, item.value()...)
	}
	return all
}

// method returns the operation and the route of a SOAP request.
func (d *debian) method(c *call) (string, func(*call) reply) {
	var envelope struct {
		Body struct {
			Call element `xml:",any"`
		} `xml:"Body"`
	}
	if err := xml.Unmarshal(c.Body, &envelope); err != nil {
		return "soap", func(*call) reply { return soapFault("Application failed during request deserialization") }
	}
	method := envelope.Body.Call
	var args []string
	for _, a := range method.Inside {
		args = append(args, a.value()...)
	}
	name := method.XMLName.Local
	methods := map[string]struct {
		operation string
		answer    func(args []string) (body string, ok bool)
	}{
		"newest_bugs": {"me", d.newest}, "get_bugs": {"list", d.bugs}, "get_status": {"read", d.statuses},
		"get_bug_log": {"log", d.log},
	}
	m, ok := methods[name]
	if !ok { // python-debianbts names no namespace, and Debian accepts that
		return "soap", func(*call) reply { return soapFault("Failed to access class or method " + name) }
	}
	return m.operation, func(*call) reply {
		body, ok := m.answer(args)
		if !ok {
			return soapFault("Unable to open bug log for reading: No such file or directory")
		}
		return soapReply(200, "<"+name+`Response xmlns="Debbugs/SOAP/V1">`+body+"</"+name+"Response>")
	}
}

func soapReply(status int, body string) reply {
	return reply{status, `<?xml version="1.0" encoding="UTF-8"?><soap:Envelope` +
		` soap:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"` +
		` xmlns:apachens="http://xml.apache.org/xml-soap" xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"` +
		` xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/" xmlns:xsd="http://www.w3.org/2001/XMLSchema"` +
		` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soap:Body>` + body + `</soap:Body></soap:Envelope>`,
		map[string]string{"Content-Type": "text/xml; charset=utf-8", "Soapserver": "SOAP::Lite/Perl/1.27"}}
}

func soapFault(text string) reply {
	return soapReply(500, "<soap:Fault><faultcode>soap:Server</faultcode>"+soapText("faultstring", text)+"</soap:Fault>")
}

// soapText returns an element with a text or number, as SOAP::Lite writes it: what is not plain ASCII in base64.
func soapText(name, text string) string {
	kind := "string"
	if n, err := strconv.Atoi(text); err == nil && strconv.Itoa(n) == text {
		kind = "int"
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r > '~' || r < ' ' && r != '\n' && r != '\t' }) {
		kind, text = "base64Binary", base64.StdEncoding.EncodeToString([]byte(text))
	}
	var escaped bytes.Buffer
	_ = xml.EscapeText(&escaped, []byte(text)) // a Buffer takes everything
	return fmt.Sprintf(`<%s xsi:type="xsd:%s">%s</%[1]s>`, name, kind, &escaped)
}

func soapList[T any](name string, list []T) string {
	items := ""
	for _, v := range list {
		items += soapText("item", fmt.Sprint(v))
	}
	return fmt.Sprintf(`<%s soapenc:arrayType="xsd:anyType[%d]" xsi:type="soapenc:Array">%s</%[1]s>`,
		name, len(list), items)
}

func (d *debian) newest(args []string) (string, bool) {
	var numbers []int64
	for _, i := range d.issues {
		numbers = append(numbers, i.Number)
	}
	if len(numbers) == 0 {
		numbers = []int64{d.kind.first - 1}
	}
	n, err := strconv.Atoi(strings.Join(args, ""))
	return soapList("soapenc:Array", numbers[max(0, len(numbers)-max(n, 0)):]), err == nil
}

// bugs selects bugs by pairs of names and values. Archived bugs are left out unless archive says otherwise.
func (d *debian) bugs(args []string) (string, bool) {
	want := map[string]string{}
	for i := 0; i+1 < len(args); i += 2 {
		want[args[i]] = args[i+1]
	}
	numbers := []int64{}
	for _, i := range d.stored(func(i *Issue) bool {
		archived := i.Extra["archived"] != nil
		return (want["archive"] == "both" || archived == (want["archive"] == "1")) &&
			(want["submitter"] == "" || strings.EqualFold(want["submitter"], i.Author)) &&
			(want["src"] == "" || want["src"] == i.Project) &&
			(want["package"] == "" || strings.TrimPrefix(want["package"], "src:") == i.Project) &&
			(want["status"] == "" || (want["status"] == "done") == i.Closed)
	}) {
		numbers = append(numbers, i.Number)
	}
	return soapList("soapenc:Array", numbers), true
}

func (d *debian) statuses(args []string) (string, bool) {
	items := ""
	for _, a := range args {
		number, _ := strconv.ParseInt(a, 10, 64) // 0 finds nothing
		if i := d.find("", number); i != nil {
			items += "<item>" + soapText("key", a) + "<value>" + d.status(i) + "</value></item>"
		}
	}
	return `<s-gensym3 xsi:type="apachens:Map">` + items + "</s-gensym3>", true
}

func (d *debian) status(i *Issue) string {
	extra := func(name string) string {
		if v, ok := i.Extra[name]; ok {
			return fmt.Sprint(v)
		}
		return ""
	}
	versions := func(name string) []string {
		list, _ := i.Extra[name].([]string)
		return list
	}
	done, pending := "", "pending"
	if i.Closed {
		pending = "done"
		if done = extra("done"); done == "" {
			done = "Maintainer <maintainer@debian.example>"
		}
	}
	severity := extra("severity")
	if severity == "" {
		severity = "normal"
	}
	originator := extra("originator")
	if originator == "" {
		originator = i.Author
	}
	archived := "0"
	location := "db-h"
	if i.Extra["archived"] != nil {
		archived, location = "1", "archive"
	}
	out := soapList("found_versions", versions("found")) + soapList("fixed_versions", versions("fixed"))
	number, tags := strconv.FormatInt(i.Number, 10), strings.Join(i.Labels, " ")
	for _, f := range [][2]string{
		{"bug_num", number}, {"id", number}, {"subject", i.Title}, {"originator", originator},
		{"date", strconv.FormatInt(i.Created.Unix(), 10)}, {"log_modified", strconv.FormatInt(i.Updated.Unix(), 10)},
		{"last_modified", strconv.FormatInt(i.Updated.Unix(), 10)}, {"done", done}, {"pending", pending},
		{"severity", severity}, {"tags", tags}, {"keywords", tags}, {"mergedwith", extra("mergedwith")},
		{"forwarded", extra("forwarded")}, {"archived", archived}, {"unarchived", ""}, {"owner", i.Assignee},
		{"package", "src:" + i.Project}, {"source", i.Project}, {"msgid", extra("msgid")}, {"location", location},
		{"affects", ""}, {"blocks", ""}, {"blockedby", ""}, {"summary", ""},
	} {
		out += soapText(f[0], f[1])
	}
	return out
}

// log returns the mails of a bug, whose texts are decoded.
func (d *debian) log(args []string) (string, bool) {
	number, _ := strconv.ParseInt(strings.Join(args, ""), 10, 64) // 0 finds nothing
	i := d.find("", number)
	if i == nil {
		return "", false
	}
	type logged struct{ header, body string }
	header := "From: " + i.Author + "\nSubject: " + i.Title
	mails := []logged{{header, i.Text}}
	if raw, ok := i.Extra["mail"].([]byte); ok {
		if m, err := mail.ReadMessage(bytes.NewReader(raw)); err == nil {
			mails[0].body = mailText(m)
		}
	}
	for _, c := range i.Comments {
		mails = append(mails, logged{"From: " + c.Author, c.Text})
	}
	items := ""
	for n, m := range mails {
		items += "<item>" + soapText("header", m.header) + soapText("body", m.body) +
			soapText("msg_num", strconv.Itoa(5*n+5)) + soapList("attachments", []string{}) + "</item>"
	}
	return fmt.Sprintf(`<soapenc:Array soapenc:arrayType="xsd:ur-type[%d]" xsi:type="soapenc:Array">%s</soapenc:Array>`,
		len(mails), items), true
}
