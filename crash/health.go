package crash

// HealthCheck is the result of one check that an instance is able to work.
type HealthCheck struct {
	Name    string // for people: "Counting"
	Problem string // one sentence that anyone may read; empty: healthy
	Detail  string // for admins and operators only; may be empty
}
