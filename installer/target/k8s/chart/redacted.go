package chart

import (
	"regexp"
	"slices"
	"strings"
)

// redacted replaces a secret.
const redacted = "‹redacted›"

// Shown returns v as it may be printed: a secret is there, and cannot be read.
func (v Values) Shown() Values {
	return v.filterLeaves("", func(path string, value any) (any, bool) {
		text, isText := value.(string)
		switch {
		case value == nil || value == "":
			return value, true
		case secretValue(path) || mayBeSecret(path):
			return redacted, true
		case isText && variablePath().MatchString(path):
			name, _, _ := strings.Cut(text, "=")
			return name + "=" + redacted, true
		}
		return value, true
	})
}

// mayBeSecret reports whether the value at a path may be a secret by its name, wherever
// the path leads: a pod spec may hold anything.
func mayBeSecret(path string) bool {
	key := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
	for _, word := range []string{"password", "token", "credential", "accesskey", "access_key", "secretkey", "secret_key", "clientsecret", "client_secret", "secret_value", "privatekey", "private_key"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return containerVariable().MatchString(path)
}

// variablePath is the path of a NAME=value of tasks, and containerVariable that of a
// container's in a pod spec.
func variablePath() *regexp.Regexp {
	return regexp.MustCompile(`(environmentVariables|environment_variables)(\.\w+)?\[\d+\]$`)
}

func containerVariable() *regexp.Regexp { return regexp.MustCompile(`\.env\[\d+\]\.value$`) }

// Remembered returns v without secrets: what the record may hold.
func (v Values) Remembered() Values {
	return v.filterLeaves("", func(path string, value any) (any, bool) { return value, !secretValue(path) })
}

// Secrets lists the paths at which v holds secrets.
func (v Values) Secrets() []string {
	var out []string
	v.filterLeaves("", func(path string, value any) (any, bool) {
		if secretValue(path) && value != nil && value != "" {
			out = append(out, path)
		}
		return value, true
	})
	slices.Sort(out)
	return out
}

// secretValue reports whether the value at a path is a secret itself, and not the
// name of one.
func secretValue(path string) bool {
	return slices.Contains(secretPaths(), path)
}

// secretPaths are the values that the chart takes in the clear. Each has a sibling
// that names a Secret instead.
func secretPaths() []string {
	return []string{
		"defaultPassword", "initialUserPassword", "initialDeterminedPassword", "db.password",
		"checkpointStorage.accessKey", "checkpointStorage.secretKey",
		"checkpointStorage.connection_string", "checkpointStorage.credential",
	}
}
