package stats

// risingFactor is the least ratio of two counts that counts as rising.
const risingFactor = 1.5

// Rising reports whether a problem has become clearly more frequent: its count in a period is at
// least 1.5 times that of the preceding period of equal length, and more than chance explains.
func Rising(now, before int64) bool {
	ratio := NewMachineRate(now, 1).Times(NewMachineRate(before, 1))
	return ratio.Worse() && ratio.Ratio >= risingFactor
}
