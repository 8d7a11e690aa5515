// Package crash defines the domain: reports, signatures, buckets, releases, bugs, filings, people,
// and the kinds of errors. It is pure: it uses no network, no database and no clock. It parses no
// wire format; crash/apport and crash/whoopsie do.
package crash
