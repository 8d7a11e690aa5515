package api

import (
	"reflect"
	"strings"
)

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
