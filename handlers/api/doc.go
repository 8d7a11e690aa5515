// Package api is version 1.0 of the JSON API: parameters in, values out.
//
// Every resource is a line of a table (table.go): its name, who may ask, its parameters and the type of its objects. That
// one description is what requests are parsed and checked with, what the OpenAPI document is made of, and what the page
// about the API shows. Addresses, names, shapes and the envelope of lists are those of errors.ubuntu.com; where its answers
// were accidents the table gives sensible ones, and docs/api.md lists each such difference.
//
// The package writes answers but no errors: those go to package handlers, which shapes all refusals. Creating bugs is not
// here either, since forms and pages share its address; the table only describes it.
package api
