package crashtest

// NobodyListens is the address of a service that refuses connections. Unlike the port of a test
// server that has closed, this port is never given to another server.
const NobodyListens = "http://127.0.0.1:1"
