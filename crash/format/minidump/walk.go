package minidump

import (
	"encoding/json"
	"strconv"

	"mishap/crash/grouping"
)

// Walker is the program that works out the stack of a minidump; --json prints it.
const Walker = "minidump-stackwalk"

// walked is what minidump-stackwalk prints, as far as it is read.
type walked struct {
	Status string `json:"status"`
	Thread struct {
		Frames []struct {
			Function *string `json:"function"`
			Module   *string `json:"module"`
			Offset   string  `json:"module_offset"`
			Address  string  `json:"offset"`
			Trust    string  `json:"trust"` // how the frame was found: context, cfi, frame_pointer, scan …
		} `json:"frames"`
	} `json:"crashing_thread"`
	Modules []struct {
		Name string  `json:"filename"`
		ID   *string `json:"code_id"`
	} `json:"modules"`
}

const maxWalked = 500 // frames

// Walked returns the frames of the thread that crashed from what minidump-stackwalk has printed, or none. It shows
// addresses within calls; here, as in other stacks, they are those of returns.
func Walked(printed []byte) []grouping.ModuleFrame {
	var w walked
	if json.Unmarshal(printed, &w) != nil || w.Status != "OK" {
		return nil
	}
	builds := map[string]string{}
	for _, m := range w.Modules {
		if m.ID != nil {
			builds[m.Name] = *m.ID
		}
	}
	var frames []grouping.ModuleFrame
	for i, f := range w.Thread.Frames[:min(len(w.Thread.Frames), maxWalked)] {
		address, err := strconv.ParseUint(f.Address, 0, 64)
		if err != nil {
			return nil
		}
		frame := grouping.ModuleFrame{Address: address, Scanned: f.Trust == "scan"}
		if f.Function != nil {
			frame.Function = *f.Function
		}
		if f.Module != nil {
			frame.Module, frame.BuildID = *f.Module, builds[*f.Module]
			frame.Offset, _ = strconv.ParseUint(f.Offset, 0, 64)
		}
		if i > 0 && f.Trust != "context" {
			frame.Address++
			if frame.Module != "" {
				frame.Offset++
			}
		}
		frames = append(frames, frame)
	}
	return frames
}
