package handlers

const pathCreateBug = "/api/1.0/create-bug-report"

const pathTracker = "/admin/tracker"

const pathAccount = "/account"
