package crash

// HealthCheck is one thing that must work for an instance to do its job.
type HealthCheck struct {
	Name    string // for people: "Counting"
	Problem string // one sentence that anyone may read; empty: all is well
	Detail  string // more, for admins and operators only; may be empty
}
