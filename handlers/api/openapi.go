package api

import (
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"mishap/views/layout"
)

type object = map[string]any

// refusal is the body of every refusal. Package handlers writes it.
type refusal struct {
	Code    string `json:"code" doc:"Error code, one word."`
	Error   string `json:"error" doc:"Error message, one sentence."`
	Message string `json:"error_message,omitempty" doc:"The same as error, for clients of errors.ubuntu.com."`
}

// refusals maps the status of each refusal to its description.
var refusals = map[string]string{
	"400": "A parameter is missing or cannot be read.",
	"401": "Not signed in, or the API token is invalid.",
	"403": "The account or the token lacks the right to do this.",
	"404": "Not found.",
	"409": "The change conflicts with an earlier decision.",
	"413": "The request is too large.",
	"415": "The request is not application/json.",
	"422": "No bug can be created for this problem.",
	"429": "Too many requests; Retry-After says when to continue.",
	"502": "The tracker refused the request.",
	"503": "The database or the tracker is unavailable; Retry-After says when to try again.",
}

// OpenAPI returns the OpenAPI 3.1 document of the API, generated from the table.
func (a *API) OpenAPI() map[string]any {
	kinds := schemas{}
	kinds.of(reflect.TypeFor[meta]())
	kinds.of(reflect.TypeFor[refusal]())
	paths := object{}
	for i := range a.resources {
		res := &a.resources[i]
		path := Prefix + res.name + "/"
		if res.listed() || res.post != nil || res.external {
			paths[path] = object{strings.ToLower(res.method): res.operation(kinds, false)}
		}
		if res.detail != nil {
			paths[path+"{key}/"] = object{"get": res.operation(kinds, true)}
		}
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "mishap", "version": "1.0",
			"description": "Crash reports, grouped into problems. Long lists are split; meta.next links to the next part. " +
				"For XML or YAML instead of JSON, use the parameter format or the header Accept. " +
				strings.TrimSpace("Made by mishap "+a.version) + ".",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []any{object{"url": a.base}},
		"paths":   paths,
		"components": object{
			"schemas": kinds,
			"securitySchemes": object{
				"token": object{"type": "http", "scheme": "bearer", "description": "An API token; create one on " +
					"the page of your account. Scopes: read (reports and traces), read-private (private data), triage (status, " +
					"assignee and tags), file (create bugs), assist (what MCP clients may change), admin (what administrators " +
					"read)."},
				"session": object{"type": "apiKey", "in": "cookie", "name": "sessionid"},
			},
		},
	}
}

func (a *API) schemaOf(res *resource) map[string]any {
	kinds := schemas{}
	out := object{
		"allowed_list_http_methods": []string{strings.ToLower(res.method)}, "default_format": "application/json",
		"default_limit": 0, "summary": res.summary, "object": kinds.of(reflect.TypeOf(res.object)),
		"parameters": res.parameters(res.detail != nil && !res.listed()),
	}
	out["components"] = object{"schemas": kinds}
	return out
}

func (res *resource) operation(kinds schemas, detail bool) object {
	id := strings.NewReplacer("-", "_", "/", "_").Replace(res.name)
	if detail {
		id += "_one"
	}
	op := object{"operationId": id, "summary": res.summary, "parameters": res.parameters(detail)}
	if res.doc != "" {
		op["description"] = res.doc
	}
	statuses := []string{"400", "401", "404", "429", "503"} // every resource answers 401 to an invalid token
	switch res.access {
	case public:
		op["security"] = []any{object{}, object{"token": []string{}}, object{"session": []string{}}}
	default:
		op["security"] = []any{object{"token": []string{string(res.scope())}}, object{"session": []string{}}}
		statuses = append(statuses, "403")
	}
	if res.body != nil {
		statuses = append(statuses, "413", "415")
		op["requestBody"] = object{"required": true, "content": media(kinds.of(reflect.TypeOf(res.body)))}
	}
	answer := kinds.of(reflect.TypeOf(res.object))
	if res.listed() && !detail {
		answer = object{
			"type": "object", "required": []string{"meta", "objects"},
			"properties": object{"meta": kinds.of(reflect.TypeFor[meta]()), "objects": object{"type": "array", "items": answer}},
		}
	}
	responses := object{}
	switch {
	case res.external:
		statuses = append(statuses, res.refused...)
		for status, text := range res.outcomes {
			responses[status] = object{"description": text, "content": media(answer)}
		}
	case res.method == http.MethodPost:
		responses["201"] = object{"description": "The answer.", "content": media(answer)}
	default:
		responses["200"] = object{"description": "The answer.", "content": media(answer)}
		responses["304"] = object{"description": "Nothing has changed since the answer of that ETag."}
	}
	for _, status := range statuses {
		responses[status] = object{"description": refusals[status], "content": media(kinds.of(reflect.TypeFor[refusal]()))}
	}
	op["responses"] = responses
	return op
}

func media(schema object) object { return object{"application/json": object{"schema": schema}} }

// parameters describes the parameters of a list, or of a single object.
func (res *resource) parameters(detail bool) []any {
	list := []any{}
	if detail {
		list = append(list, object{
			"name": "key", "in": "path", "required": true, "description": res.key, "schema": object{"type": "string"},
			"example": strings.ReplaceAll(res.example, "%2F", "/"),
		})
	}
	params := res.params
	if res.listed() && !detail {
		params = slices.Clone(params)
		for _, p := range []param{limitParam, offsetParam} {
			if !slices.ContainsFunc(params, func(q param) bool { return q.name == p.name }) {
				params = append(params, p)
			}
		}
	}
	if res.listed() && detail {
		params = nil
	}
	for _, p := range params {
		list = append(list, p.describe())
	}
	return list
}

func (p *param) describe() object {
	schema := object{"type": "string"}
	switch p.kind {
	case kindNumber:
		schema = object{"type": "integer", "minimum": p.min}
		if p.ceiling == 0 && p.max < 1<<30 {
			schema["maximum"] = p.max
		}
		if p.fallback != 0 {
			schema["default"] = p.fallback
		}
	case kindChoice:
		schema["enum"] = p.choices
	case kindReport:
		schema["format"] = "uuid"
	case kindText:
		schema["maxLength"] = maxText
	case kindDay, kindFlag, kindPresence, kindSignature, kindQuery:
	}
	var example any = p.example
	if p.kind == kindNumber {
		example = atoi(p.example)
	}
	out := object{"name": p.name, "in": "query", "description": p.doc, "schema": schema, "example": example}
	if p.required {
		out["required"] = true
	} else {
		out["allowEmptyValue"] = true // an empty parameter counts as missing
	}
	return out
}

func atoi(s string) int {
	n := 0
	for _, r := range s {
		n = n*10 + int(r-'0')
	}
	return n
}

// Describe describes every resource for the page about the API, in the order of the table.
func (a *API) Describe() []layout.APIResource {
	var list []layout.APIResource
	for i := range a.resources {
		res := &a.resources[i]
		d := layout.APIResource{
			Name: res.name, Method: res.method, Path: Prefix + res.name + "/", Access: string(res.access),
			Scope:   string(res.scope()),
			Summary: res.summary, Doc: res.doc,
			Fields: fieldsOf(reflect.TypeOf(res.object)),
		}
		if !res.listed() && res.detail != nil {
			d.Path += "{key}/"
			d.Params = append(d.Params, layout.APIParam{
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

func (p *param) description() layout.APIParam {
	out := layout.APIParam{Name: p.name, Kind: string(p.kind), Doc: p.doc, Example: p.example, Required: p.required}
	if p.kind == kindNumber && p.fallback != 0 {
		out.Default = strconv.Itoa(p.fallback)
	}
	return out
}

// fieldsOf returns the named fields of a type, one level deep.
func fieldsOf(t reflect.Type) []layout.APIField {
	var list []layout.APIField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" {
			list = append(list, layout.APIField{Name: name, Type: typeName(f.Type), Doc: f.Tag.Get("doc")})
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

// schemas collects JSON schemas of Go types. Named structs are stored by name and referred to.
type schemas map[string]any

// of returns the schema of a type. The tag doc describes a field; a pointer is nullable.
func (s schemas) of(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[bugNumber]():
		return map[string]any{"type": []string{"string", "integer"}}
	case reflect.TypeFor[versionRow]():
		schema := s.object(t)
		schema["additionalProperties"] = map[string]any{"type": "integer", "description": "Reports from the series of " +
			"this codename; -1: none."}
		return s.define(t.Name(), schema)
	}
	switch t.Kind() { //nolint:exhaustive // the rest is anything
	case reflect.Pointer:
		return nullable(s.of(t.Elem()))
	case reflect.Struct:
		if t.Name() == "" {
			return s.object(t)
		}
		return s.define(t.Name(), s.object(t))
	case reflect.Slice:
		return map[string]any{"type": "array", "items": s.of(t.Elem())}
	case reflect.Array:
		return map[string]any{"type": "array", "items": s.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.String:
		return map[string]any{"type": "string"}
	}
	return map[string]any{} // anything
}

func (s schemas) define(name string, schema map[string]any) map[string]any {
	s[name] = schema
	return map[string]any{"$ref": "#/components/schemas/" + name}
}

func nullable(schema map[string]any) map[string]any {
	if name, ok := schema["type"].(string); ok {
		schema["type"] = []string{name, "null"}
		return schema
	}
	return map[string]any{"anyOf": []any{schema, map[string]any{"type": "null"}}}
}

func (s schemas) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "" {
			continue
		}
		schema := s.of(f.Type)
		if doc := f.Tag.Get("doc"); doc != "" {
			schema["description"] = doc
		}
		properties[name] = schema
		if options != "omitempty" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}
