package main

import (
	"os"
	"strconv"
	"strings"
)

// envPrefix begins the name of every variable: MISHAP_LISTEN, or MISHAP_LISTEN_FILE for a file that holds the value.
const envPrefix = "MISHAP_"

// readEnvironment takes the values of MISHAP_X and MISHAP_X_FILE and returns one line for every mistake. A variable
// that is set and empty is an empty value.
func (c *Config) readEnvironment(environ []string) mistakes {
	values := map[string]string{}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && strings.HasPrefix(name, envPrefix) {
			values[name] = value
		}
	}
	var wrong mistakes
	for _, k := range c.keys() {
		name := envPrefix + strings.ToUpper(k.name)
		value, direct := values[name]
		path, byFile := values[name+"_FILE"]
		switch {
		case direct && byFile:
			wrong = append(wrong, name+": expected one of "+name+" and "+name+"_FILE, got both")
			continue
		case byFile:
			name += "_FILE"
			content, err := os.ReadFile(path)
			if err != nil {
				wrong = append(wrong, name+": "+path+" cannot be read: "+cause(err))
				c.given[k.name] = given{where: name, wrong: true}
				continue
			}
			value = strings.TrimRight(string(content), "\r\n")
		case !direct:
			continue
		}
		possible := k.set(value)
		c.given[k.name] = given{where: name, wrong: !possible}
		if !possible {
			got := "something else (not shown)"
			if !k.secret {
				got = strconv.Quote(value)
			}
			wrong = append(wrong, name+": expected "+k.wants+", got "+got)
		}
	}
	return wrong
}

// strayVariables lists variables that look like misspelt ones, each with the name that was perhaps meant. They are worth a
// warning, not more: container platforms put variables of their own into the environment.
func strayVariables(environ []string) []string {
	var c Config
	keys := c.keys()
	var stray []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		plain, ours := strings.CutPrefix(name, envPrefix)
		if !ours {
			continue
		}
		suffix := ""
		if base, file := strings.CutSuffix(plain, "_FILE"); file {
			plain, suffix = base, "_FILE"
		}
		near := nearest(plain, keys)
		if near != "" && near != strings.ToLower(plain) {
			stray = append(stray, name+" is not used; did you mean "+envPrefix+strings.ToUpper(near)+suffix+"?")
		}
	}
	return stray
}
