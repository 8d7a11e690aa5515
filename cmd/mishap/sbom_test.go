package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSBOM validates the bill of materials of the built program against the schema of CycloneDX, and
// compares its components with the modules that Go lists and with the files in assets.
func TestSBOM(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), built(t), "version", "--sbom").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	for _, name := range []string{"bom-1.6", "spdx", "jsf-0.82"} {
		f, err := os.Open("testdata/cyclonedx/" + name + ".schema.json")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close() //nolint:errcheck // only read
		schema, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource("http://cyclonedx.org/schema/"+name+".schema.json", schema); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := compiler.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Errorf("the bill of materials is not valid: %v", err)
	}

	var b bom
	if err := json.Unmarshal(out, &b); err != nil {
		t.Fatal(err)
	}
	versions := map[string]string{}
	for _, c := range b.Components {
		versions[c.Name] = c.Version
	}
	list, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if fields := strings.Fields(line); len(fields) == 2 && versions[fields[0]] != fields[1] {
			t.Errorf("%s: got version %q, want %q", fields[0], versions[fields[0]], fields[1])
		}
	}
	licences, err := filepath.Glob("../../assets/static/*.LICENSE.txt")
	if err != nil || len(licences) != 1 ||
		filepath.Base(licences[0]) != "htmx-"+versions["htmx.org"]+".LICENSE.txt" {
		t.Errorf("licences in assets: got %v, %v; want that of htmx %s alone", licences, err, versions["htmx.org"])
	}
	if notice := readFile(t, "../../crash/distroinfo/NOTICE"); !strings.Contains(notice,
		"distro-info-data "+versions["distro-info-data"]+"\n") {
		t.Errorf("distro-info-data: got %q, want the version in\n%s", versions["distro-info-data"], notice)
	}
	again, err := exec.CommandContext(t.Context(), built(t), "version", "--sbom").Output()
	if err != nil || !bytes.Equal(again, out) {
		t.Errorf("the second run differs, %v", err)
	}
}

// TestHealthCommand asks a ready instance, and none.
func TestHealthCommand(t *testing.T) {
	t.Parallel()
	in := install(t)
	environ := []string{"MISHAP_OPS_LISTEN=" + strings.TrimPrefix(in.ops, "http://")}
	for flag, want := range map[string]string{"": "ready\n", "--live": "ok\n"} {
		args := []string{"health", noConfig(t)}
		if flag != "" {
			args = append(args, flag)
		}
		if status, out, stderr := runIn(t.Context(), nil, environ, args...); status != exitOK || out != want {
			t.Errorf("health %s: got %d, %q, %s; want %q", flag, status, out, stderr, want)
		}
	}
	status, _, stderr := runIn(t.Context(), nil, []string{"MISHAP_OPS_LISTEN=" + freeAddress(t)}, "health", noConfig(t))
	if status != exitFailed || !strings.Contains(stderr, "no instance answers at ops_listen") {
		t.Errorf("no instance: got %d and %q", status, stderr)
	}
}
