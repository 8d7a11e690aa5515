package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const modernOops = "testdata/crashes/linux-image-6.8.0-41-generic.3f1b77aa.crash"

func TestInspectWhy(t *testing.T) {
	t.Parallel()
	status, stdout, stderr := runIn(t.Context(), nil, nil, "inspect", "--why", noConfig(t), modernOops,
		"testdata/crashes/linux-image-7.0.0-12-generic-202607010203.crash")
	if status != exitOK || stderr != "" {
		t.Errorf("got status %d and %q, want 0 and nothing", status, stderr)
	}
	for _, want := range []string{
		"  grouped by      kernel\n", "  why: The same kernel problem in the same function, called by the same functions.\n",
		"    read from  OopsText ",
		"    used       RIP: 0010:brig_tx_done+0x62/0x110 [brigwifi]  brig_tx_done [brigwifi]\n",
		"    left out   ? show_regs+0x6d/0x80                         the kernel marks it as unreliable\n",
		"  why: The kernel report holds no text and no stack to group by.\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("got\n%s\nwant %q in it", stdout, want)
		}
	}
}

func TestInspectWhyAsJSON(t *testing.T) {
	t.Parallel()
	_, stdout, _ := runIn(t.Context(), nil, nil, "inspect", "--why", "--json", noConfig(t), modernOops)
	var got struct {
		Rule string
		Why  reasons
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Rule != "kernel" || got.Why.Because == "" || len(got.Why.Used) != 4 ||
		got.Why.Used[0].As != "brig_tx_done [brigwifi]" || len(got.Why.Skipped) != 1 {
		t.Errorf("got %+v", got)
	}
	_, stdout, _ = runIn(t.Context(), nil, nil, "inspect", "--json", noConfig(t), modernOops)
	if strings.Contains(stdout, `"why"`) {
		t.Errorf("got %s, want no reasons without --why", stdout)
	}
}
