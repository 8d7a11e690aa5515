// Package crash is the domain: reports, signatures, buckets, releases, bugs, filings, people, and the kinds of errors.
// It is pure: no network, no database, no clock of its own. It does not read any wire format; crash/apport and
// crash/whoopsie do.
package crash
