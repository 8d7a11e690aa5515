package grouping

import "mishap/crash"

// RulesVersion is the version of the grouping rules, that is, of [SignatureOf]. Each report is
// stored with the version that grouped it. Raise it when a change of the rules changes the
// signature of any report; stored reports of lower versions are then regrouped.
//
// Version 1: apport's rules and address signatures. 2: our own rules, where apport has none. 3:
// oopses without offsets, network addresses, full disks, Rust executors, Flatpaks and AppImages. 4:
// stacks that mishap works out, calls of wrong pointers.
const RulesVersion = 4

// CurrentRules returns the grouping rules of this program.
func CurrentRules() crash.Rules { return crash.Rules{Version: RulesVersion, Group: SignatureOf} }
