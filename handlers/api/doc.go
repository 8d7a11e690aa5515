// Package api is version 1.0 of the JSON API: parameters in, values out.
//
// A table (table.go) describes every resource: its name, access, parameters and the type of its
// objects. Parsing, the OpenAPI document and the page about the API all use this description.
// Addresses, names, shapes and the envelope of lists are those of errors.ubuntu.com. Where its
// answers were accidental, the table corrects them; docs/api.md lists each difference.
//
// The package returns errors to package handlers, which writes all refusals. It does not create
// bugs either, because forms and pages share that address; the table only describes it.
package api
