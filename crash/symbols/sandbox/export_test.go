package sandbox

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }
