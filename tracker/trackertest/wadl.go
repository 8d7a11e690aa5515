package trackertest

import (
	"encoding/xml"
	"slices"
	"strings"
)

const wadlMedia = "application/vnd.sun.wadl+xml"

// The elements of a WADL document that are needed to describe this API. wadlTypes lists the
// described types.
type (
	wadlDocument struct {
		XMLName         xml.Name             `xml:"http://research.sun.com/wadl/2006/10 application"`
		Resources       wadlResources        `xml:"resources"`
		Types           []wadlType           `xml:"resource_type"`
		Representations []wadlRepresentation `xml:"representation"`
	}
	wadlResources struct {
		Base     string       `xml:"base,attr"`
		Resource wadlResource `xml:"resource"`
	}
	wadlResource struct {
		Path string `xml:"path,attr"`
		Type string `xml:"type,attr"`
	}
	wadlType struct {
		ID      string       `xml:"id,attr"`
		Methods []wadlMethod `xml:"method"`
	}
	wadlMethod struct {
		Name     string       `xml:"name,attr"`
		ID       string       `xml:"id,attr"`
		Request  *wadlMessage `xml:"request,omitempty"`
		Response *wadlMessage `xml:"response,omitempty"`
	}
	wadlMessage struct {
		Params          []wadlParam          `xml:"param"`
		Representations []wadlRepresentation `xml:"representation"`
	}
	wadlRepresentation struct {
		ID        string      `xml:"id,attr,omitempty"`
		Href      string      `xml:"href,attr,omitempty"`
		MediaType string      `xml:"mediaType,attr,omitempty"`
		Params    []wadlParam `xml:"param"`
	}
	wadlParam struct {
		Name     string       `xml:"name,attr"`
		Style    string       `xml:"style,attr"`
		Path     string       `xml:"path,attr,omitempty"`
		Required string       `xml:"required,attr,omitempty"`
		Fixed    string       `xml:"fixed,attr,omitempty"`
		Options  []wadlOption `xml:"option"`
		Link     *wadlLink    `xml:"link,omitempty"`
	}
	wadlOption struct {
		Value string `xml:"value,attr"`
	}
	wadlLink struct {
		Type string `xml:"resource_type,attr"`
	}
)

// wadl describes the API to clients that read descriptions, such as launchpadlib.
func wadl(root string) string {
	d := wadlDocument{Resources: wadlResources{Base: root + "/", Resource: wadlResource{Type: root + "/#service-root"}}}
	w := wadlWriter{root: root, document: &d}
	for _, t := range wadlTypes {
		w.add(t)
	}
	w.entry("ScalarValue", "") // type of the number of entries in a collection
	b, err := xml.MarshalIndent(d, "", " ")
	if err != nil {
		panic(err) // the input is constant
	}
	return xml.Header + string(b) + "\n"
}

type wadlWriter struct {
	root     string
	document *wadlDocument
}

// add describes one type of entry, and the pages of collections of it.
func (w wadlWriter) add(t wadlEntry) {
	fields := strings.Fields(t.fields)
	var params []wadlParam
	for _, field := range fields {
		name, to, _ := strings.Cut(field, ":")
		param := wadlParam{Name: name, Style: "plain", Path: "$['" + name + "']"}
		if to != "" {
			param.Link = &wadlLink{w.root + "/#" + to}
		}
		params = append(params, param)
	}
	get := t.id + "-full"
	if t.collection != "" {
		get = t.collection + "-page"
	} else {
		w.represent(get, params)
	}
	w.entry(t.id, get)
	described := &w.document.Types[len(w.document.Types)-1]
	for _, op := range t.operations {
		described.Methods = append(described.Methods, w.operation(t.id, op))
	}
	if t.pages {
		w.page(t.id)
	}
}

// entry describes a type that answers GET and PATCH with one representation, or with any JSON if
// representation is empty.
func (w wadlWriter) entry(id, representation string) {
	answer := wadlRepresentation{Href: "#" + representation}
	if representation == "" {
		answer = wadlRepresentation{MediaType: "application/json", ID: id + "-json"}
	}
	w.document.Types = append(w.document.Types, wadlType{ID: id, Methods: []wadlMethod{{
		Name: "GET", ID: id + "-get", Response: &wadlMessage{Representations: []wadlRepresentation{answer}},
	}}})
}

// page describes the pages of a collection.
func (w wadlWriter) page(id string) {
	var params []wadlParam
	for _, name := range []string{
		"resource_type_link", "total_size", "total_size_link", "start", "next_collection_link", "prev_collection_link",
		"entries",
	} {
		param := wadlParam{Name: name, Style: "plain", Path: "$['" + name + "']"}
		switch name {
		case "total_size_link":
			param.Link = &wadlLink{w.root + "/#ScalarValue"}
		case "next_collection_link", "prev_collection_link":
			param.Link = &wadlLink{w.root + "/#" + id + "-page-resource"}
		}
		params = append(params, param)
	}
	w.represent(id+"-page", params)
	w.entry(id+"-page-resource", id+"-page")
}

func (w wadlWriter) represent(id string, params []wadlParam) {
	w.document.Representations = append(w.document.Representations,
		wadlRepresentation{ID: id, MediaType: "application/json", Params: params})
}

// operation describes a named operation.
func (w wadlWriter) operation(id string, op wadlOperation) wadlMethod {
	style, message := "query", &wadlMessage{}
	params := &message.Params
	method := wadlMethod{Name: "GET", ID: id + "-" + op.name, Request: message}
	if op.write {
		message.Representations = []wadlRepresentation{{MediaType: "application/x-www-form-urlencoded"}}
		method.Name, params = "POST", &message.Representations[0].Params
	}
	*params = append(*params, wadlParam{Name: "ws.op", Style: style, Required: "true", Fixed: op.name})
	for _, name := range strings.Fields(op.params) {
		plain, required := strings.CutSuffix(name, "!")
		param := wadlParam{Name: plain, Style: style, Required: "false"}
		if required {
			param.Required = "true"
		}
		for _, value := range vocabularies[plain] {
			param.Options = append(param.Options, wadlOption{value})
		}
		*params = append(*params, param)
	}
	switch {
	case op.makes != "":
		method.Response = &wadlMessage{Params: []wadlParam{{Name: "Location", Style: "header",
			Link: &wadlLink{w.root + "/#" + op.makes}}}}
	case op.gives != "":
		method.Response = &wadlMessage{Representations: []wadlRepresentation{{Href: w.root + "/#" + op.gives}}}
	}
	return method
}

// accepts reports whether the Accept header contains this media type.
func (c *call) accepts(media string) bool {
	return slices.ContainsFunc(c.r.Header.Values("Accept"), func(v string) bool { return strings.Contains(v, media) })
}
