// Package upkeep reads and changes what keeps a site in order. Retention compares stored reports with the
// table of classes, and removes private fields of old reports and old counts. Erasing removes machines with
// everything that is known about them, and writes what keeps them erased when a backup is restored. The
// audit log is read and shortened, counts are checked against stored reports, complete backups and their
// verifications are recorded, and facts are read that health checks and metrics need.
package upkeep
