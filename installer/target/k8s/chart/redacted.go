package chart

import (
	"regexp"
	"slices"
	"strings"
)

// redacted replaces a secret in output.
const redacted = "‹redacted›"

// Shown returns v for display, with secrets redacted.
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

// mayBeSecret reports whether the key at the end of path suggests a secret. It applies anywhere,
// because a pod spec may contain anything.
func mayBeSecret(path string) bool {
	key := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
	for _, word := range []string{"password", "token", "credential", "accesskey", "access_key", "secretkey", "secret_key", "clientsecret", "client_secret", "secret_value", "privatekey", "private_key"} {
		if strings.Contains(key, word) {
			return true
		}
	}
	return containerVariable().MatchString(path)
}

// variablePath matches the path of a NAME=value of tasks, and containerVariable that of a container
// variable in a pod spec.
func variablePath() *regexp.Regexp {
	return regexp.MustCompile(`(environmentVariables|environment_variables)(\.\w+)?\[\d+\]$`)
}

func containerVariable() *regexp.Regexp { return regexp.MustCompile(`\.env\[\d+\]\.value$`) }

// Remembered returns v without secrets, for the record.
func (v Values) Remembered() Values {
	return v.filterLeaves("", func(path string, value any) (any, bool) { return value, !secretValue(path) })
}

// Secrets returns the paths at which v contains secrets.
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

// secretValue reports whether the value at a path is a secret, as opposed to the name of one.
func secretValue(path string) bool {
	return slices.Contains(secretPaths(), path)
}

// secretPaths lists the values that may contain plain-text secrets. Each has a sibling that names a
// Secret.
func secretPaths() []string {
	return []string{
		"defaultPassword", "initialUserPassword", "initialDeterminedPassword", "db.password",
		"checkpointStorage.accessKey", "checkpointStorage.secretKey",
		"checkpointStorage.connection_string", "checkpointStorage.credential",
	}
}
