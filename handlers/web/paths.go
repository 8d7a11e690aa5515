package web

const pathCreateBug = "/api/1.0/create-bug-report"

const PathTracker = "/admin/tracker"

const PathAccount = "/account"

// apiPrefix is where the API is, whose errors are JSON.
const apiPrefix = "/api/1.0/"
