package grouping

import "mishap/crash"

// RulesVersion is the version of the grouping rules, all of [SignatureOf]. It is stored with each report as the version
// that grouped it, and raised when any rule changes the signature of some report: stored reports of a lower version are
// then grouped anew. 1: apport's rules and address signatures. 2: rules of our own where apport has none. 3: oopses
// without offsets, network addresses, any file of a full disk, executors of Rust, Flatpaks and AppImages.
const RulesVersion = 3

// CurrentRules are the grouping rules of this program.
func CurrentRules() crash.Rules { return crash.Rules{Version: RulesVersion, Group: SignatureOf} }
