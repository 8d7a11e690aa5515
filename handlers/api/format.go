package api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"mishap/handlers/negotiate"
)

// format is the form of an answer.
type format string

const (
	formatJSON format = "json"
	formatXML  format = "xml"
	formatYAML format = "yaml"
)

// mediaTypes are what the formats are called in Content-Type.
var mediaTypes = map[format]string{
	formatJSON: "application/json", formatXML: "application/xml; charset=utf-8", formatYAML: "text/yaml; charset=utf-8",
}

// offered are the media types by which Accept asks for formats, the usual one first. Browsers, which prefer HTML, get JSON.
var offered = []struct {
	media  string
	format format
}{
	{"application/json", formatJSON}, {"text/html", formatJSON}, {"application/xhtml+xml", formatJSON}, {"application/xml", formatXML},
	{"text/xml", formatXML}, {"text/yaml", formatYAML}, {"application/yaml", formatYAML}, {"application/x-yaml", formatYAML},
}

// formatOf returns the form that a request asks for: by the parameter format, else by Accept. JSON is for everything that is
// not known, and for browsers.
func formatOf(r *http.Request) format {
	asked, _ := parseQuery(r.URL.RawQuery).last("format")
	if f := format(asked.value); mediaTypes[f] != "" {
		return f
	}
	media := make([]string, len(offered))
	for i, o := range offered {
		media[i] = o.media
	}
	preferred := negotiate.Preferred(r.Header.Values("Accept"), media...)
	for _, o := range offered {
		if o.media == preferred {
			return o.format
		}
	}
	return formatJSON
}

// encode writes a value as JSON: indented by two blanks, text as it is.
func encode(v any) ([]byte, error) {
	body, err := marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSuffix(body, []byte("\n")), "", "  "); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return out.Bytes(), nil
}

// encodeAs writes a value in a format. YAML holds all of JSON, so that is written; XML has the elements and types that clients
// of the old service know.
func encodeAs(f format, v any) ([]byte, error) {
	body, err := encode(v)
	if err != nil || f != formatXML {
		return body, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var plain any
	if err := d.Decode(&plain); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	root := "object"
	switch v.(type) {
	case envelope, objectSet, map[string]indexEntry:
		root = "response"
	}
	x := xmlWriter{}
	x.WriteString(xml.Header)
	x.element(root, plain, "")
	return x.Bytes(), nil
}

// xmlWriter writes values as elements.
type xmlWriter struct{ bytes.Buffer }

// xmlName are the names that an element may have here; others become an attribute.
var xmlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// element writes a value; hash is what an object says of itself.
func (x *xmlWriter) element(name string, value any, hash string) {
	given := ""
	if !xmlName.MatchString(name) {
		name, given = "value", name
	}
	open := func(kind string) {
		x.WriteString("<" + name)
		if given != "" {
			x.WriteString(` name="`)
			x.text(given)
			x.WriteString(`"`)
		}
		if kind != "" {
			x.WriteString(` type="` + kind + `"`)
		}
		x.WriteString(">")
	}
	switch v := value.(type) {
	case nil:
		open("null")
	case bool:
		open("boolean")
		x.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case json.Number:
		kind := "integer"
		if strings.ContainsAny(v.String(), ".eE") {
			kind = "float"
		}
		open(kind)
		x.WriteString(v.String())
	case string:
		open("")
		x.text(v)
	case []any:
		open("list")
		for _, one := range v {
			switch one.(type) {
			case map[string]any:
				inner := "hash"
				if name == "objects" {
					inner = ""
				}
				x.element("object", one, inner)
			case []any:
				x.element("objects", one, "")
			default:
				x.element("value", one, "")
			}
		}
	case map[string]any:
		open(hash)
		for _, field := range slices.Sorted(maps.Keys(v)) {
			x.element(field, v[field], "hash")
		}
	}
	x.WriteString("</" + name + ">")
}

// text writes text; what XML cannot hold becomes a replacement character.
func (x *xmlWriter) text(s string) { _ = xml.EscapeText(x, []byte(s)) } // a buffer takes everything
