package worker

import "time"

// SearchNow makes the next round look for added files.
func (w *Worker) SearchNow() { w.searched = time.Time{} }

// Sentence makes a sentence of a remark.
var Sentence = sentence
