package webhook

// Check returns whether a client may send to an address.
func (n Networks) Check(address string) error { return n.control("tcp", address, nil) }

// Schedule lists the delay of each attempt after the previous one.
var Schedule = schedule

// MaxPause is the longest pause of an endpoint that fails without asking for one.
const MaxPause = maxPause
