package config

import (
	"os"
	"strconv"
	"strings"
)

// envPrefix is the prefix of every variable. MISHAP_LISTEN contains a value; MISHAP_LISTEN_FILE
// names a file that contains it.
const envPrefix = "MISHAP_"

// Variable returns the name of the environment variable that sets a key.
func Variable(key string) string { return envPrefix + strings.ToUpper(key) }

// readEnvironment sets the keys that have variables and returns their mistakes. An empty variable
// sets an empty value.
func (c *Config) readEnvironment(environ []string) Mistakes {
	values := map[string]string{}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && strings.HasPrefix(name, envPrefix) {
			values[name] = value
		}
	}
	var wrong Mistakes
	for _, k := range c.keys() {
		name := Variable(k.name)
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
		valid := k.set(value)
		c.given[k.name] = given{where: name, wrong: !valid, value: value}
		if !valid {
			got := "something else (not shown)"
			if !k.secret {
				got = strconv.Quote(value)
			}
			wrong = append(wrong, name+": expected "+k.wants+", got "+got)
		}
	}
	return wrong
}

// readStandardVariables sets traces_url, if it is empty, from the variables that programs with
// OpenTelemetry have in common. It returns their mistakes.
func (c *Config) readStandardVariables(environ []string) Mistakes {
	if c.TracesURL != "" {
		return nil
	}
	values := map[string]string{}
	for _, v := range environ {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	if strings.EqualFold(values["OTEL_SDK_DISABLED"], "true") {
		return nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"} {
		value := values[name]
		if value == "" {
			continue
		}
		k := optionalAddress("traces_url", "", &c.TracesURL)
		if !k.set(value) {
			return Mistakes{name + ": expected an address such as http://localhost:4318, got " + strconv.Quote(value) +
				"; unset it, or set traces_url"}
		}
		c.given["traces_url"] = given{where: name, value: value}
		return nil
	}
	return nil
}

// StrayVariables returns a warning for each variable that looks misspelt. These are not mistakes,
// because container platforms add their own variables with the same prefix.
func StrayVariables(environ []string) []string {
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
		if advice := removed[strings.ToLower(plain)]; advice != "" {
			stray = append(stray, name+" is not used: "+advice)
			continue
		}
		near := nearest(plain, keys)
		if near != "" && near != strings.ToLower(plain) {
			stray = append(stray, name+" is not used; did you mean "+Variable(near)+suffix+"?")
		}
	}
	return stray
}
