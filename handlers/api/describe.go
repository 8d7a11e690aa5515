package api

import (
	"reflect"
	"strconv"
	"strings"
)

// Description describes one resource for the page about the API.
type Description struct {
	Name    string
	Method  string
	Path    string // contains {key} if the resource has no list
	Access  string // who may use it
	Scope   string // that a token needs; empty: any
	Summary string
	Doc     string
	Example string // an example address; empty for questions with a body
	Params  []Parameter
	Fields  []Field // fields of the objects
}

// Parameter describes one parameter of a resource.
type Parameter struct {
	Name, Kind, Doc, Example string
	Default                  string // empty if there is none
	Required                 bool
}

// Field describes one field of an answer.
type Field struct{ Name, Type, Doc string }

// Describe describes every resource, in the order of the table.
func (a *API) Describe() []Description {
	var list []Description
	for i := range a.resources {
		res := &a.resources[i]
		d := Description{
			Name: res.name, Method: res.method, Path: Prefix + res.name + "/", Access: string(res.access),
			Scope:   string(res.scope()),
			Summary: res.summary, Doc: res.doc,
			Fields: fieldsOf(reflect.TypeOf(res.object)),
		}
		if !res.listed() && res.detail != nil {
			d.Path += "{key}/"
			d.Params = append(d.Params, Parameter{
				Name: "key", Kind: "part of the address", Doc: res.key, Example: decodePercent(res.example), Required: true,
			})
		}
		if res.method == "GET" {
			d.Example = res.exampleAddress()
		}
		for _, p := range res.params {
			d.Params = append(d.Params, p.description())
		}
		list = append(list, d)
	}
	return list
}

// exampleAddress returns an address with examples of all required parameters.
func (res *resource) exampleAddress() string {
	address := Prefix + res.name + "/"
	if !res.listed() {
		return address + res.example + "/"
	}
	var q query
	for _, p := range res.params {
		if p.required {
			q = append(q, pair{name: p.name, value: p.example})
		}
	}
	if len(q) > 0 {
		address += "?" + q.with()
	}
	return address
}

func (p *param) description() Parameter {
	out := Parameter{Name: p.name, Kind: string(p.kind), Doc: p.doc, Example: p.example, Required: p.required}
	if p.kind == kindNumber && p.fallback != 0 {
		out.Default = strconv.Itoa(p.fallback)
	}
	return out
}

// fieldsOf returns the named fields of a type, one level deep.
func fieldsOf(t reflect.Type) []Field {
	var list []Field
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" {
			list = append(list, Field{Name: name, Type: typeName(f.Type), Doc: f.Tag.Get("doc")})
		}
	}
	return list
}

func typeName(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // the rest is text
	case reflect.Pointer:
		return typeName(t.Elem()) + " or null"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "number"
	}
	return "text"
}
