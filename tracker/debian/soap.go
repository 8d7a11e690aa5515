package debian

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"mishap/crash"
	"mishap/tracker"
)

// batch is the number of bugs in one answer, whose size is bounded.
const batch = 200

// text is an element with a text. The tracker encodes those that are not ASCII.
type text struct {
	Type  string `xml:"type,attr"`
	Value string `xml:",chardata"`
}

// String returns the text, decoded.
func (t text) String() string {
	if strings.Contains(t.Type, "base64") {
		decoded, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(t.Value), ""))
		if err != nil {
			return ""
		}
		return string(decoded)
	}
	return t.Value
}

func (t text) int() int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(t.String()), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (t text) time() time.Time { return time.Unix(t.int(), 0) }

// status is the status of a bug [Debbugs/Status.pm, get_bug_status].
type status struct {
	Number     text   `xml:"bug_num"`
	Subject    text   `xml:"subject"`
	Originator text   `xml:"originator"`
	Date       text   `xml:"date"`
	Modified   text   `xml:"log_modified"`
	Done       text   `xml:"done"` // who has closed it; empty: it is open
	Severity   text   `xml:"severity"`
	MergedWith text   `xml:"mergedwith"` // numbers
	Forwarded  text   `xml:"forwarded"`
	Fixed      []text `xml:"fixed_versions>item"` // "source/version"
	Archived   text   `xml:"archived"`
	Owner      text   `xml:"owner"`
	Package    text   `xml:"package"`
	Source     text   `xml:"source"`
	MessageID  text   `xml:"msgid"`
}

func (s status) number() int64 { return s.Number.int() }

func (s status) archived() bool { return s.Archived.int() != 0 }

// submitter returns the mail address of who filed the bug.
func (s status) submitter() string {
	originator := strings.TrimSpace(s.Originator.String())
	if a, err := mail.ParseAddress(originator); err == nil {
		return a.Address
	}
	if from := strings.LastIndex(originator, "<"); from >= 0 {
		originator, _, _ = strings.Cut(originator[from+1:], ">")
	}
	return originator
}

// fixes returns the packages and versions that have the fix.
func (s status) fixes() (fixes []crash.BugFix) {
	for _, item := range s.Fixed {
		name, version, found := strings.Cut(item.String(), "/")
		if !found {
			name, version = s.Source.String(), item.String()
		}
		if packageName.MatchString(name) && packageVersion.MatchString(version) && len(fixes) < maxFixes {
			fixes = append(fixes, crash.BugFix{Package: name, Version: version})
		}
	}
	return fixes
}

// argument is an argument of a call, as XML.
type argument string

func integer(n int64) argument { return argument(` xsi:type="xsd:int">` + itoa(n)) }

func words(values ...string) (list []argument) {
	for _, v := range values {
		var escaped bytes.Buffer
		_ = xml.EscapeText(&escaped, []byte(v)) // a Buffer takes everything
		list = append(list, argument(` xsi:type="xsd:string">`+escaped.String()))
	}
	return list
}

func integers(list []int64) argument {
	a := fmt.Sprintf(` xsi:type="soapenc:Array" soapenc:arrayType="xsd:int[%d]">`, len(list))
	for _, n := range list {
		a += `<item xsi:type="xsd:int">` + itoa(n) + `</item>`
	}
	return argument(a)
}

// answer is the answer to any call.
type answer[T any] struct {
	Body struct {
		Response struct {
			XMLName xml.Name
			Lists   []struct {
				Items []T `xml:"item"`
			} `xml:",any"`
		} `xml:",any"`
	} `xml:"Body"`
}

// faultOf returns the message of an answer that the tracker could not do what was asked, or "".
func faultOf(a tracker.Answer) string {
	var fault struct {
		Text text `xml:"Body>Fault>faultstring"`
	}
	if xml.Unmarshal(a.Body, &fault) != nil {
		return ""
	}
	return fault.Text.String()
}

// ask calls a method of the tracker, which changes nothing, and returns the items of the list that it answers.
func ask[T any](ctx context.Context, c *Client, operation, method string, arguments ...argument) ([]T, error) {
	body := `<?xml version="1.0" encoding="UTF-8"?>` +
		`<soap:Envelope xmlns:soap="http://schemas.xmlsoap.org/soap/envelope/"` +
		` xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/"` +
		` xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">` +
		`<soap:Body><` + method + ` xmlns="Debbugs/SOAP/V1">`
	for i, a := range arguments {
		body += fmt.Sprintf("<arg%d%s</arg%[1]d>", i, a)
	}
	body += "</" + method + "></soap:Body></soap:Envelope>"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.APIURL, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", operation, err)
	}
	req.Header.Set("Content-Type", `text/xml; charset="UTF-8"`)
	req.Header.Set("SOAPAction", `"`+method+`"`)
	a, err := c.call.Read(operation, req)
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, c.call.Failed(ctx, operation, a)
	}
	var out answer[T]
	if a.Broken != nil || xml.Unmarshal(a.Body, &out) != nil ||
		out.Body.Response.XMLName.Local != method+"Response" || len(out.Body.Response.Lists) != 1 {
		return nil, c.call.Malformed(ctx, operation, a, "the answer is not the SOAP that was expected")
	}
	c.call.Done(ctx, operation, "")
	return out.Body.Response.Lists[0].Items, nil
}

// numbers calls a method that answers with numbers of bugs.
func (c *Client) numbers(ctx context.Context, operation, method string, arguments ...argument) ([]int64, error) {
	items, err := ask[text](ctx, c, operation, method, arguments...)
	var numbers []int64
	for _, item := range items {
		n := item.int()
		if n < 1 {
			return nil, c.call.Unusable(ctx, operation, "the list has a bug without a number")
		}
		numbers = append(numbers, n)
	}
	return numbers, err
}

// statuses returns the statuses of bugs, in any order, and leaves out those of bugs that do not exist.
func (c *Client) statuses(ctx context.Context, operation string, numbers []int64) (all []status, err error) {
	for len(numbers) > 0 {
		n := min(len(numbers), batch)
		items, err := ask[struct {
			Value status `xml:"value"`
		}](ctx, c, operation, "get_status", integers(numbers[:n]))
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			if item.Value.number() < 1 {
				return nil, c.call.Unusable(ctx, operation, "the list has a bug without a number")
			}
			all = append(all, item.Value)
		}
		numbers = numbers[n:]
	}
	return all, nil
}

// log returns the texts of the mails of a bug, the first one first.
func (c *Client) log(ctx context.Context, operation string, number int64) (texts []string, err error) {
	mails, err := ask[struct {
		Body text `xml:"body"`
	}](ctx, c, operation, "get_bug_log", integer(number))
	for _, m := range mails {
		body := strings.ReplaceAll(m.Body.String(), "\r\n", "\n")
		texts = append(texts, strings.TrimRight(body, "\n"))
	}
	return texts, err
}
