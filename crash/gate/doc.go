// Package gate tells from counts whether an update of a package made things worse.
//
// Nobody tells mishap how many machines have a version installed. The package therefore compares
// days, not machines: all reports of the package while the previous version was the newest one, and
// all reports since the update arrived, both per active machine of the release. If the update
// changes nothing, this rate stays the same, however quickly machines install the update.
//
// docs/gate.md explains the statistics, their limits and the levels, which a simulation tests. The
// package reads no database; package db/problems collects its input.
package gate
