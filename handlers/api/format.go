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

// format is the format of an answer.
type format string

const (
	formatJSON format = "json"
	formatXML  format = "xml"
	formatYAML format = "yaml"
)

// mediaTypes are the values of Content-Type for each format.
var mediaTypes = map[format]string{
	formatJSON: "application/json", formatXML: "application/xml; charset=utf-8", formatYAML: "text/yaml; charset=utf-8",
}

// acceptedTypes are the media types by which Accept selects a format, the default first.
// Browsers prefer HTML and get JSON.
var acceptedTypes = []struct {
	media  string
	format format
}{
	{"application/json", formatJSON}, {"text/html", formatJSON}, {"application/xhtml+xml", formatJSON},
	{"application/xml", formatXML}, {"text/xml", formatXML},
	{"text/yaml", formatYAML}, {"application/yaml", formatYAML}, {"application/x-yaml", formatYAML},
}

// formatOf returns the format that a request selects by the parameter format, or else by Accept.
// The default is JSON.
func formatOf(r *http.Request) format {
	requested, _ := parseQuery(r.URL.RawQuery).last("format")
	if f := format(requested.value); mediaTypes[f] != "" {
		return f
	}
	media := make([]string, len(acceptedTypes))
	for i, o := range acceptedTypes {
		media[i] = o.media
	}
	preferred := negotiate.Preferred(r.Header.Values("Accept"), media...)
	for _, o := range acceptedTypes {
		if o.media == preferred {
			return o.format
		}
	}
	return formatJSON
}

// encode encodes a value as JSON, indented by two spaces, without HTML escapes.
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

// encodeAs encodes a value in a format. Because JSON is valid YAML, it writes JSON for both. XML
// has the elements and types of errors.ubuntu.com.
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
	case envelope, objectsByKey, map[string]indexEntry:
		root = "response"
	}
	x := xmlWriter{}
	x.WriteString(xml.Header)
	x.element(root, plain, "")
	return x.Bytes(), nil
}

// xmlWriter writes values as XML elements.
type xmlWriter struct{ bytes.Buffer }

// xmlName matches the names that become the name of an element; others become an attribute.
var xmlName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// element writes a value. hash is the type attribute of an object.
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

// text writes escaped text. Characters that XML does not allow become U+FFFD.
func (x *xmlWriter) text(s string) { _ = xml.EscapeText(x, []byte(s)) } // writes to a buffer do not fail
