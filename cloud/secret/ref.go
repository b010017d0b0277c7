package secret

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Scheme is the kind of store of a secret.
type Scheme string

// The supported schemes.
const (
	File Scheme = "file"
	Env  Scheme = "env"
	AWS  Scheme = "aws-sm"
	GCP  Scheme = "gcp-sm"
)

// Ref is a reference to a secret: "file:/etc/determined/db-password", "env:DB_PASSWORD",
// "aws-sm:NAME-or-ARN#key", "gcp-sm:projects/P/secrets/S/versions/V". It is not confidential
// itself.
type Ref struct {
	Scheme Scheme
	// Name is the path, the variable or the name of the secret.
	Name string
	// Key selects one entry of a JSON secret in AWS Secrets Manager. It may be empty.
	Key string
}

// String formats the reference for Parse.
func (r Ref) String() string {
	s := string(r.Scheme) + ":" + r.Name
	if r.Key != "" {
		s += "#" + r.Key
	}
	return s
}

// The valid names: AWS Secrets Manager allows letters, digits and /_+=.@- up to 512 characters, or
// an ARN; Google Secret Manager allows letters, digits, - and _ up to 255 characters, and a version
// number or alias.
var (
	envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	awsName = regexp.MustCompile(`^(arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:[0-9]{12}:secret:)?[A-Za-z0-9/_+=.@-]{1,512}$`)
	gcpName = regexp.MustCompile(`^(projects/[a-z0-9:.-]+/secrets/)?[A-Za-z0-9_-]{1,255}(/versions/[A-Za-z0-9_-]+)?$`)
)

// parseRef parses a reference. Found is false if text does not start with a scheme. It returns an
// error if text starts with a scheme and is not a valid reference, so that a mistyped reference is
// never used as a password.
func parseRef(text string) (ref Ref, found bool, err error) {
	if name, ok := cutScheme(text, string(File)); ok {
		if !filepath.IsAbs(name) {
			return Ref{}, false, errors.New("is a file: reference whose path is not absolute; write file:/path/to/secret")
		}
		return Ref{Scheme: File, Name: name}, true, nil
	}
	for _, s := range []struct {
		scheme Scheme
		name   *regexp.Regexp
		want   string
	}{
		{Env, envName, "env:NAME with letters, digits and _"},
		{AWS, awsName, "aws-sm:NAME or aws-sm:ARN, with #KEY for one entry of a JSON secret"},
		{GCP, gcpName, "gcp-sm:projects/PROJECT/secrets/NAME/versions/VERSION, or gcp-sm:NAME"},
	} {
		name, ok := cutScheme(text, string(s.scheme))
		if !ok {
			continue
		}
		key := ""
		if s.scheme == AWS {
			name, key, _ = strings.Cut(name, "#")
		}
		if !s.name.MatchString(name) {
			return Ref{}, false, fmt.Errorf("is not a valid %s: reference; write %s", s.scheme, s.want)
		}
		return Ref{Scheme: s.scheme, Name: name, Key: key}, true, nil
	}
	return Ref{}, false, nil
}

func cutScheme(text, scheme string) (string, bool) { return strings.CutPrefix(text, scheme+":") }
